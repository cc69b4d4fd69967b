/**
 * Kilit: offline conversions for Google Ads.
 *
 * Paste into Google Ads (Tools > Bulk actions > Scripts) and schedule it hourly. Each run claims the site's waiting
 * rows page by page, uploads them and reports the results. A row may be uploaded twice when a report is lost; Google
 * counts it once, because its Order ID never changes.
 */
'use strict';

// baseUrl, siteId, apiKey, timeZone: the site's values, filled in by the console; row times are in timeZone.
// pageSize: rows per claim; the server allows 10,000 at most.
// stopClaimingAfterSeconds: Google ends a script after 30 minutes; a page claimed later might not be reported in time.
// giveUpAfterSeconds: reports are not retried after this.
const CONFIG = /*KILIT_CONFIG*/{
  "baseUrl": "", "siteId": "", "apiKey": "PASTE-YOUR-KEY-HERE", "timeZone": "",
  "pageSize": 1000, "stopClaimingAfterSeconds": 1500, "giveUpAfterSeconds": 1680
}/*END*/;

const KEY_PLACEHOLDER = 'PASTE-YOUR-KEY-HERE';
const STARTED_AT = Date.now();
const IDS_PER_REPORT = 1000;
const LONGEST_PAUSE_SECONDS = 60;

// A retried export is a new claim: if the lost request had claimed rows, the retry gets others, and the lost rows stay
// PROCESSING until the server takes them back. So exports are retried a few times only, and each retry is logged.
// If the server asks for a long wait before a claim, the run ends and the next run continues.
const CLAIMING = {
  attempts: 4,
  leaveIfAsked: LONGEST_PAUSE_SECONDS,
  until: () => CONFIG.stopClaimingAfterSeconds,
  ifLost: ' Rows that the lost request may have claimed are available again after 15 minutes.',
};
// A report follows the upload, and repeating one is harmless. So reports are retried for longer.
const REPORTING = {attempts: 8, leaveIfAsked: Infinity, until: () => CONFIG.giveUpAfterSeconds, ifLost: ''};

// Repeating it is harmless, and the next run sends it again.
const COUNTING = {attempts: 2, leaveIfAsked: 10, until: () => CONFIG.giveUpAfterSeconds, ifLost: ''};

const CLICK_ID_COLUMNS = {gclid: 'Google Click ID', wbraid: 'WBRAID', gbraid: 'GBRAID'};
const SHARED_COLUMNS = ['Conversion Name', 'Conversion Time', 'Conversion Value', 'Conversion Currency', 'Order ID'];
// Only in uploads of which some row has them; an empty cell means that no consent was given.
const CONSENT_COLUMNS = {consentAdUserData: 'Ad User Data', consentAdPersonalization: 'Ad Personalization'};
const CONSENT_WORDS = {GRANTED: 'Granted', DENIED: 'Denied'};

const COUNTS = 'offline_conversion_upload_conversion_action_summary';
const COUNTS_QUERY = `SELECT ${['client', 'conversion_action_id', 'conversion_action_name', 'daily_summaries', 'alerts']
  .map(name => `${COUNTS}.${name}`).join(', ')} FROM ${COUNTS}`;

const TIME = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}[+-]\d{2}:\d{2}$/;
// The server returns valid rows only. If one is invalid all the same, its first error is reported and it is not
// uploaded, because Google would reject it without telling the script.
const CHECKS = [
  ['MISSING_CLICK_ID', 'Expected a gclid, wbraid or gbraid', row => clickIdKinds(row).length > 0],
  ['INVALID_CLICK_ID', 'Expected exactly one valid click id', row => hasOneRealClickId(row)],
  ['INVALID_TIME_FORMAT', 'Expected yyyy-mm-dd HH:mm:ss±HH:mm', row => TIME.test(row.conversionTime)],
  ['INVALID_VALUE', 'Expected a number, 0 or more', ({conversionValue: value}) => Number.isFinite(value) && value >= 0],
  ['INVALID_CURRENCY', 'Expected three capital letters', row => /^[A-Z]{3}$/.test(row.conversionCurrency)],
  ['MISSING_CONVERSION_NAME', 'Expected a conversion name', row => isText(row.conversionName)],
  ['MISSING_ORDER_ID', 'Expected an order id', row => isText(row.orderId)],
  ['INVALID_CONSENT', 'Expected GRANTED or DENIED', row => hasKnownConsents(row)],
];

/** Google Ads calls this. */
function main() {
  if (AdsApp.getExecutionInfo().isPreview()) {
    // apply() only previews here, so rows would be acknowledged but never uploaded.
    log('Preview: nothing was claimed, uploaded or reported. Run the script to do so.');
    return;
  }
  const tally = {claimed: 0, uploaded: 0, invalid: 0, notApplied: 0, unreported: 0};
  try {
    refuseUnfinishedConfig();
    drainQueue(tally);
    sendGoogleCounts();
  } catch (error) {
    log(`Stopped: ${error.message}`);
    // Google then lists the run as failed and notifies the account's users.
    throw new Error(withoutKey(error.message));
  } finally {
    log(`Claimed ${tally.claimed}, uploaded ${tally.uploaded}, invalid ${tally.invalid}, ` +
      `not applied ${tally.notApplied}, unreported ${tally.unreported}.`);
  }
}

function refuseUnfinishedConfig() {
  const pasted = CONFIG.apiKey && CONFIG.apiKey !== KEY_PLACEHOLDER;
  if (!pasted) throw new Error("Paste the site's API key into CONFIG.apiKey at the top of this script.");
  const empty = ['baseUrl', 'siteId', 'timeZone'].find(name => !CONFIG[name]);
  if (empty) throw new Error(`CONFIG.${empty} is empty.`);
}

/** Process pages until the queue is empty or the runtime limit is near. */
function drainQueue(tally) {
  while (elapsedSeconds() < CONFIG.stopClaimingAfterSeconds) {
    const rows = claimPage();
    tally.claimed += rows.length;
    settlePage(rows, tally);
    if (rows.length < CONFIG.pageSize) return;
  }
  log('The runtime limit is near: the remaining rows wait for the next run.');
}

/** Claim the oldest waiting rows; each of them must be reported. */
function claimPage() {
  const site = encodeURIComponent(CONFIG.siteId);
  const path = `/api/oci/google-ads-export?siteId=${site}&markAsExported=true&limit=${CONFIG.pageSize}`;
  const rows = call('get', path, null, CLAIMING);
  if (!Array.isArray(rows)) throw new Error('The export did not return a list of rows.');
  return rows;
}

/** Validate, upload and report the rows of one page. */
function settlePage(rows, tally) {
  const failures = new Map();
  const uploadable = {gclid: [], wbraid: [], gbraid: []};
  // A row without an id cannot be reported.
  const named = rows.filter(row => row && isText(row.id));
  if (named.length < rows.length) {
    log(`${rows.length - named.length} rows have no id and are skipped; they will be available again.`);
    tally.unreported += rows.length - named.length;
  }
  named.forEach(row => {
    const failed = CHECKS.find(([, , passes]) => !passes(row));
    if (failed) {
      addFailure(failures, row, failed[0], failed[1], 'VALIDATION');
      tally.invalid += 1;
    } else {
      uploadable[clickIdKinds(row)[0]].push(row);
    }
  });
  const uploaded = uploadEachKind(uploadable, failures, tally);
  reportPage(uploaded, failures, tally);
  // The rows were not the cause, so the next pages would likely fail, too.
  if (tally.notApplied > 0) throw new Error('An upload failed; no further rows are claimed.');
}

/**
 * Upload the rows of each click id kind separately, and return those that were uploaded.
 *
 * One upload per kind leaves no click id cell empty, and an error of one kind does not stop the others.
 */
function uploadEachKind(uploadable, failures, tally) {
  const uploaded = [];
  Object.keys(uploadable).filter(kind => uploadable[kind].length > 0).forEach(kind => {
    const rows = uploadable[kind];
    try {
      upload(kind, rows);
      uploaded.push(...rows);
      tally.uploaded += rows.length;
    } catch (error) {
      // Google may have accepted some of these. Its message may contain a click id, so it is not logged.
      log(`apply() threw for ${rows.length} ${kind} rows; they are reported as UPLOAD_EXCEPTION.`);
      const message = error && error.message || String(error);
      rows.forEach(row => addFailure(failures, row, 'UPLOAD_EXCEPTION', message, 'TRANSIENT'));
      tally.notApplied += rows.length;
    }
  });
  return uploaded;
}

function upload(kind, rows) {
  const consents = Object.keys(CONSENT_COLUMNS).filter(name => rows.some(row => CONSENT_WORDS[row[name]]));
  const columns = [CLICK_ID_COLUMNS[kind], ...SHARED_COLUMNS, ...consents.map(name => CONSENT_COLUMNS[name])];
  const csv = AdsApp.bulkUploads().newCsvUpload(columns, {moneyInMicros: false, timeZone: CONFIG.timeZone});
  csv.forOfflineConversions();
  rows.forEach(row => csv.append(Object.assign({
    [CLICK_ID_COLUMNS[kind]]: row[kind],
    'Conversion Name': row.conversionName,
    'Conversion Time': row.conversionTime,
    'Conversion Value': row.conversionValue,
    'Conversion Currency': row.conversionCurrency,
    'Order ID': row.orderId,
  }, ...consents.map(name => ({[CONSENT_COLUMNS[name]]: CONSENT_WORDS[row[name]] || ''})))));
  // Returns nothing: a script cannot learn the result of a row. Rejected rows are listed in Google Ads only.
  csv.apply();
}

function addFailure(failures, row, errorCode, message, errorCategory) {
  // Cut to what the server stores, without characters for which it would reject the whole report.
  const errorMessage = message.replace(/[\u0000-\u001f\ud800-\udfff]/g, ' ').slice(0, 1000);
  const key = JSON.stringify([errorCode, errorMessage, errorCategory]);
  if (!failures.has(key)) failures.set(key, {rows: [], errorCode, errorMessage, errorCategory});
  failures.get(key).rows.push(row);
}

/** Report every row of a page; a report that fails does not stop the others. */
function reportPage(uploaded, failures, tally) {
  const reports = inBatches(uploaded).map(rows => ({path: '/api/oci/ack', body: held(rows)}));
  failures.forEach(({rows, ...error}) => inBatches(rows).forEach(batch =>
    reports.push({path: '/api/oci/ack-failed', body: Object.assign(held(batch), error)})));
  const faults = reports.map(({path, body}) => report(path, body, tally)).filter(fault => fault);
  if (faults.length > 0) throw faults[0];
}

/** Return the ids of rows, with the numbers of their claims: the server ignores reports of an older claim. */
function held(rows) {
  const claims = {};
  rows.filter(row => Number.isInteger(row.claim)).forEach(row => { claims[row.id] = row.claim; });
  return {queueIds: rows.map(row => row.id), claims};
}

/** Send one report and return the error, if any. */
function report(path, body, tally) {
  const count = body.queueIds.length;
  try {
    const answer = call('post', path, Object.assign({siteId: CONFIG.siteId}, body), REPORTING);
    if (!answer || !Number.isInteger(answer.updated)) throw new Error(`${path}: the response contains no count.`);
    if (answer.updated < count) log(`${path}: ${count - answer.updated} of ${count} rows were no longer PROCESSING.`);
    return null;
  } catch (error) {
    tally.unreported += count;
    log(`${path}: the report of ${count} rows was lost. They will be available again after 15 minutes; ` +
      'rows that were uploaded count once, by their Order ID.');
    return error;
  }
}

/**
 * Send what Google counted in this account, for comparing it with what was uploaded.
 *
 * An account that cannot answer must never stop uploads, so errors are only logged.
 */
function sendGoogleCounts() {
  try {
    const account = AdsApp.currentAccount();
    const body = {siteId: CONFIG.siteId, customerId: account.getCustomerId(), timeZone: account.getTimeZone(),
      days: [], alerts: []};
    const found = AdsApp.search(COUNTS_QUERY);
    while (found.hasNext()) addCounts(body, found.next().offlineConversionUploadConversionActionSummary);
    // An account without summaries proves nothing about what was uploaded.
    if (body.days.length > 0) call('post', '/api/oci/upload-summary', body, COUNTING);
  } catch (error) {
    log(`Google's counts were not sent: ${error && error.message || error}`);
  }
}

function addCounts({days, alerts}, summary) {
  const {client, conversionActionName: name} = summary;
  const number = value => Number(value || 0); // Google leaves zeros out and sends large numbers as text
  (summary.dailySummaries || []).forEach(daily => days.push({
    day: daily.uploadDate, actionId: number(summary.conversionActionId), actionName: name, client,
    successful: number(daily.successfulCount), failed: number(daily.failedCount), pending: number(daily.pendingCount),
  }));
  (summary.alerts || []).forEach(alert => alerts.push({
    error: String(Object.values(alert.error || {})[0] || 'UNKNOWN'), share: number(alert.errorPercentage), client,
    action: name,
  }));
}

/** Call the server and return its JSON; retry after 429, 5xx and lost responses. */
function call(method, path, body, policy) {
  const name = path.split('?')[0];
  for (let attempt = 1; ; attempt++) {
    const answer = fetchOnce(method, path, body);
    if (answer.status >= 200 && answer.status < 300 && answer.json !== undefined) return answer.json;
    const fault = `${name}: ${describeFault(answer)}`;
    const declined = answer.status === 429 || answer.status === 503; // busy or paused: the server has done nothing
    const lost = !declined && (answer.status < 300 || answer.status >= 500);
    if (!declined && !lost) throw new Error(fault);
    if (attempt === policy.attempts) throw new Error(`${fault} (given up after ${attempt} attempts)`);
    const asked = answer.retryAfter > 0 ? answer.retryAfter : 2 ** attempt;
    if (asked > policy.leaveIfAsked) throw new Error(`${fault} (asked to wait ${asked} s: the next run continues)`);
    const pause = Math.min(asked, LONGEST_PAUSE_SECONDS);
    if (elapsedSeconds() + pause > policy.until()) throw new Error(`${fault} (given up: the runtime limit is near)`);
    log(`${fault}. Retrying in ${pause} s.${lost ? policy.ifLost : ''}`);
    Utilities.sleep(pause * 1000);
  }
}

/** Return the status (0 without a response), the JSON (undefined if it is invalid) and the delay in seconds. */
function fetchOnce(method, path, body) {
  // Redirects are not followed: they would send the key to another address.
  const options = {method, headers: {'x-api-key': CONFIG.apiKey}, muteHttpExceptions: true, followRedirects: false};
  if (body) Object.assign(options, {contentType: 'application/json', payload: JSON.stringify(body)});
  try {
    const response = UrlFetchApp.fetch(CONFIG.baseUrl.replace(/\/+$/, '') + path, options);
    const headers = response.getHeaders();
    const header = Object.keys(headers).find(key => key.toLowerCase() === 'retry-after');
    const json = readJson(response.getContentText());
    return {status: response.getResponseCode(), json, retryAfter: Number(headers[header])};
  } catch (error) {
    return {status: 0, reason: error.message};
  }
}

function readJson(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    return undefined; // the error would quote the text, which may contain a click id
  }
}

function describeFault({status, json, reason}) {
  if (status === 0) return `no response (${reason})`;
  const {code, message} = json && json.error || {};
  return isText(code) && isText(message) ? `HTTP ${status} ${code}: ${message}` : `HTTP ${status} without a JSON error`;
}

function clickIdKinds(row) {
  return Object.keys(CLICK_ID_COLUMNS).filter(kind => ![undefined, null, ''].includes(row[kind]));
}

function hasOneRealClickId(row) {
  const [kind, ...others] = clickIdKinds(row);
  return others.length === 0 && isText(row[kind]) && !/^\s*(null|undefined)\s*$/i.test(row[kind]);
}

function hasKnownConsents(row) {
  return Object.keys(CONSENT_COLUMNS).every(name => row[name] === undefined || CONSENT_WORDS[row[name]] !== undefined);
}

function isText(value) {
  return typeof value === 'string' && value.trim() !== '';
}

function inBatches(rows) {
  const count = Math.ceil(rows.length / IDS_PER_REPORT);
  return Array.from({length: count}, (_, n) => rows.slice(n * IDS_PER_REPORT, (n + 1) * IDS_PER_REPORT));
}

function elapsedSeconds() {
  return (Date.now() - STARTED_AT) / 1000;
}

function log(text) {
  Logger.log(withoutKey(text));
}

/** Keep the key out of the log, even if a server or an exception quotes it. */
function withoutKey(text) {
  return CONFIG.apiKey ? String(text).split(CONFIG.apiKey).join('[key]') : String(text);
}
