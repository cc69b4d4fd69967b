/**
 * Kilit: offline conversions for Google Ads.
 *
 * Paste into Google Ads (Tools > Bulk actions > Scripts) and schedule it hourly. Each run claims the site's waiting
 * rows page by page, uploads them and reports what became of each. A row may be uploaded twice when a report is lost on
 * its way; Google counts it once, because its Order ID never changes.
 */
'use strict';

// baseUrl, siteId, apiKey, timeZone: the site's values, filled in by the console; timeZone is that of the rows' times.
// pageSize: rows claimed at once; the server hands out 10,000 at most.
// stopClaimingAfterSeconds: Google ends a script after 30 minutes; a page claimed later might not be reported in time.
// giveUpAfterSeconds: reports are not tried again after this.
const CONFIG = /*KILIT_CONFIG*/{
  "baseUrl": "", "siteId": "", "apiKey": "PASTE-YOUR-KEY-HERE", "timeZone": "",
  "pageSize": 1000, "stopClaimingAfterSeconds": 1500, "giveUpAfterSeconds": 1680
}/*END*/;

const KEY_PLACEHOLDER = 'PASTE-YOUR-KEY-HERE';
const STARTED_AT = Date.now();
const IDS_PER_REPORT = 1000;
const LONGEST_PAUSE_SECONDS = 60;

// A retried export is a new claim: if the lost one had claimed rows already, the retry gets others, and the lost ones
// wait in PROCESSING until the server's sweep frees them. So exports are tried few times, and each retry says so.
// Before a claim there is nothing to lose: a server that wants to be left alone for long is left to the next run.
const CLAIMING = {
  attempts: 4,
  leaveIfAsked: LONGEST_PAUSE_SECONDS,
  until: () => CONFIG.stopClaimingAfterSeconds,
  ifLost: ' Rows it may have claimed unheard come back after 15 minutes; the next try claims others.',
};
// A report comes after the upload, and repeating one is harmless. So reports are tried long.
const REPORTING = {attempts: 8, leaveIfAsked: Infinity, until: () => CONFIG.giveUpAfterSeconds, ifLost: ''};

const CLICK_ID_COLUMNS = {gclid: 'Google Click ID', wbraid: 'WBRAID', gbraid: 'GBRAID'};
const SHARED_COLUMNS = ['Conversion Name', 'Conversion Time', 'Conversion Value', 'Conversion Currency', 'Order ID'];

const TIME = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}[+-]\d{2}:\d{2}$/;
// The server hands out valid rows only. Should one be spoiled all the same, its first fault is reported, and it stays
// out of the upload, where Google would reject it unseen.
const CHECKS = [
  ['MISSING_CLICK_ID', 'Expected a gclid, wbraid or gbraid', row => clickIdKinds(row).length > 0],
  ['INVALID_CLICK_ID', 'Expected exactly one click id, and a real one', row => hasOneRealClickId(row)],
  ['INVALID_TIME_FORMAT', 'Expected yyyy-mm-dd HH:mm:ss±HH:mm', row => TIME.test(row.conversionTime)],
  ['INVALID_VALUE', 'Expected a number, 0 or more', ({conversionValue: value}) => Number.isFinite(value) && value >= 0],
  ['INVALID_CURRENCY', 'Expected three capital letters', row => /^[A-Z]{3}$/.test(row.conversionCurrency)],
  ['MISSING_CONVERSION_NAME', 'Expected a conversion name', row => isText(row.conversionName)],
  ['MISSING_ORDER_ID', 'Expected an order id', row => isText(row.orderId)],
];

/** Google Ads calls this. */
function main() {
  if (AdsApp.getExecutionInfo().isPreview()) {
    // apply() would only preview here, so a claim would end in rows acknowledged but never uploaded.
    log('Preview: nothing was claimed, uploaded or reported. Run the script to do so.');
    return;
  }
  const tally = {claimed: 0, uploaded: 0, invalid: 0, notApplied: 0, unreported: 0};
  try {
    refuseUnfinishedConfig();
    drainQueue(tally);
  } catch (error) {
    log(`Stopped: ${error.message}`);
    // Google then lists the run as failed and tells the account's users.
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

/** Work page by page until the queue is empty or the runtime limit is near. */
function drainQueue(tally) {
  while (elapsedSeconds() < CONFIG.stopClaimingAfterSeconds) {
    const rows = claimPage();
    tally.claimed += rows.length;
    settlePage(rows, tally);
    if (rows.length < CONFIG.pageSize) return;
  }
  log('The runtime limit is near: the remaining rows wait for the next run.');
}

/** Claim the oldest waiting rows; from here on they are ours to report. */
function claimPage() {
  const site = encodeURIComponent(CONFIG.siteId);
  const path = `/api/oci/google-ads-export?siteId=${site}&markAsExported=true&limit=${CONFIG.pageSize}`;
  const rows = call('get', path, null, CLAIMING);
  if (!Array.isArray(rows)) throw new Error('The export answered with something other than a list of rows.');
  return rows;
}

/** Validate, upload and report the rows of one page. */
function settlePage(rows, tally) {
  const failures = new Map();
  const uploadable = {gclid: [], wbraid: [], gbraid: []};
  // One that cannot be named in a report would have the server refuse the report of all others with it.
  const named = rows.filter(row => row && isText(row.id));
  if (named.length < rows.length) {
    log(`${rows.length - named.length} rows came without an id and are left alone; the server hands them out again.`);
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
  // It was not the rows' fault, so the next page would likely end the same way, and in the end the whole queue.
  if (tally.notApplied > 0) throw new Error('Google did not take an upload; no further rows are claimed.');
}

/**
 * Upload rows of each click id kind by themselves, and return those that Google took.
 *
 * One upload per kind leaves no click id cell empty, and what Google holds against one kind does not stop the others.
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
      // Whether Google took any of these is unknown. Its words may quote a click id, so they stay out of the log.
      log(`apply() threw for ${rows.length} ${kind} rows; they are reported as UPLOAD_EXCEPTION.`);
      const message = error && error.message || String(error);
      rows.forEach(row => addFailure(failures, row, 'UPLOAD_EXCEPTION', message, 'TRANSIENT'));
      tally.notApplied += rows.length;
    }
  });
  return uploaded;
}

function upload(kind, rows) {
  const csv = AdsApp.bulkUploads().newCsvUpload(
    [CLICK_ID_COLUMNS[kind], ...SHARED_COLUMNS], {moneyInMicros: false, timeZone: CONFIG.timeZone});
  csv.forOfflineConversions();
  rows.forEach(row => csv.append({
    [CLICK_ID_COLUMNS[kind]]: row[kind],
    'Conversion Name': row.conversionName,
    'Conversion Time': row.conversionTime,
    'Conversion Value': row.conversionValue,
    'Conversion Currency': row.conversionCurrency,
    'Order ID': row.orderId,
  }));
  // Returns nothing: that a row was taken is all a script can know. Rejected rows show up in Google Ads only.
  csv.apply();
}

function addFailure(failures, row, errorCode, message, errorCategory) {
  // As much as the server keeps, without what it could refuse the whole report for.
  const errorMessage = message.replace(/[\u0000-\u001f\ud800-\udfff]/g, ' ').slice(0, 1000);
  const key = JSON.stringify([errorCode, errorMessage, errorCategory]);
  if (!failures.has(key)) failures.set(key, {queueIds: [], errorCode, errorMessage, errorCategory});
  failures.get(key).queueIds.push(row.id);
}

/** Report every row of a page; one report that fails does not keep the others from being sent. */
function reportPage(uploaded, failures, tally) {
  const reports = inBatches(uploaded.map(row => row.id)).map(queueIds => ({path: '/api/oci/ack', body: {queueIds}}));
  failures.forEach(group => inBatches(group.queueIds).forEach(queueIds =>
    reports.push({path: '/api/oci/ack-failed', body: Object.assign({}, group, {queueIds})})));
  const faults = reports.map(({path, body}) => report(path, body, tally)).filter(fault => fault);
  if (faults.length > 0) throw faults[0];
}

/** Send one report and return what went wrong, if anything. */
function report(path, body, tally) {
  const count = body.queueIds.length;
  try {
    const answer = call('post', path, Object.assign({siteId: CONFIG.siteId}, body), REPORTING);
    if (!answer || !Number.isInteger(answer.updated)) throw new Error(`${path}: the answer tells no count.`);
    if (answer.updated < count) log(`${path}: ${count - answer.updated} of ${count} rows were no longer PROCESSING.`);
    return null;
  } catch (error) {
    tally.unreported += count;
    log(`${path}: the report of ${count} rows was lost. The server hands them out again after 15 minutes; ` +
      'those uploaded already count once, by their Order ID.');
    return error;
  }
}

/** Call the server and return its JSON, trying again after 429, 5xx and answers lost on their way. */
function call(method, path, body, policy) {
  const name = path.split('?')[0];
  for (let attempt = 1; ; attempt++) {
    const answer = fetchOnce(method, path, body);
    if (answer.status >= 200 && answer.status < 300 && answer.json !== undefined) return answer.json;
    const fault = `${name}: ${describeFault(answer)}`;
    const declined = answer.status === 429 || answer.status === 503; // busy or paused: the server did nothing yet
    const lost = !declined && (answer.status < 300 || answer.status >= 500);
    if (!declined && !lost) throw new Error(fault);
    if (attempt === policy.attempts) throw new Error(`${fault} (given up after ${attempt} attempts)`);
    const asked = answer.retryAfter > 0 ? answer.retryAfter : 2 ** attempt;
    if (asked > policy.leaveIfAsked) throw new Error(`${fault} (asked to wait ${asked} s: left to the next run)`);
    const pause = Math.min(asked, LONGEST_PAUSE_SECONDS);
    if (elapsedSeconds() + pause > policy.until()) throw new Error(`${fault} (given up: the runtime limit is near)`);
    log(`${fault}. Trying again in ${pause} s.${lost ? policy.ifLost : ''}`);
    Utilities.sleep(pause * 1000);
  }
}

/** Return status (0 without an answer), JSON (undefined when it is none) and the seconds the server asks to wait. */
function fetchOnce(method, path, body) {
  // A redirect is not followed: it would hand the key to another address.
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
    return undefined; // the error would quote the text, and with it perhaps a click id
  }
}

function describeFault({status, json, reason}) {
  if (status === 0) return `no answer (${reason})`;
  const {code, message} = json && json.error || {};
  return isText(code) && isText(message) ? `HTTP ${status} ${code}: ${message}` : `HTTP ${status} without the server's JSON`;
}

function clickIdKinds(row) {
  return Object.keys(CLICK_ID_COLUMNS).filter(kind => ![undefined, null, ''].includes(row[kind]));
}

function hasOneRealClickId(row) {
  const [kind, ...others] = clickIdKinds(row);
  return others.length === 0 && isText(row[kind]) && !/^\s*(null|undefined)\s*$/i.test(row[kind]);
}

function isText(value) {
  return typeof value === 'string' && value.trim() !== '';
}

function inBatches(ids) {
  const count = Math.ceil(ids.length / IDS_PER_REPORT);
  return Array.from({length: count}, (_, n) => ids.slice(n * IDS_PER_REPORT, (n + 1) * IDS_PER_REPORT));
}

function elapsedSeconds() {
  return (Date.now() - STARTED_AT) / 1000;
}

function log(text) {
  Logger.log(withoutKey(text));
}

/** The key must not reach a log, even if a server or an exception quotes it. */
function withoutKey(text) {
  return CONFIG.apiKey ? String(text).split(CONFIG.apiKey).join('[key]') : String(text);
}
