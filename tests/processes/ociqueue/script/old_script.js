/**
 * A script as sites have had it running for years: it opens with the handshake, pulls without a limit, keeps rows
 * without a value back, and knows one answer to every refusal, which is to fail.
 */
var CONFIG = {baseUrl: '', siteId: '', apiKey: '', currency: 'TRY'};

function main() {
  var session = send('post', '/api/oci/v2/verify', {'x-api-key': CONFIG.apiKey}, {siteId: CONFIG.siteId});
  var bearer = {Authorization: 'Bearer ' + session.session_token};
  var rows = send('get', '/api/oci/google-ads-export?siteId=' + CONFIG.siteId + '&markAsExported=true', bearer);

  var upload = AdsApp.bulkUploads().newCsvUpload(
    ['Google Click ID', 'Conversion Name', 'Conversion Time', 'Conversion Value', 'Conversion Currency', 'Order ID'],
    {moneyInMicros: false, timeZone: 'Europe/Istanbul'});
  upload.forOfflineConversions();

  var uploaded = [], skipped = [], failed = [];
  rows.forEach(function (row) {
    if (row.conversionCurrency !== CONFIG.currency) return failed.push(row.id);
    if (row.conversionValue === 0) return skipped.push(row.id);
    uploaded.push(row.id);
    upload.append({
      'Google Click ID': row.gclid,
      'Conversion Name': row.conversionName,
      'Conversion Time': row.conversionTime,
      'Conversion Value': row.conversionValue,
      'Conversion Currency': row.conversionCurrency,
      'Order ID': row.orderId
    });
  });
  upload.apply();

  var ack = send('post', '/api/oci/ack', bearer,
    {siteId: CONFIG.siteId, queueIds: uploaded, skippedIds: skipped, scriptVersion: '2.4', runId: 7});
  Logger.log(JSON.stringify(ack));
  if (failed.length > 0) {
    send('post', '/api/oci/ack-failed', bearer, {
      siteId: CONFIG.siteId, queueIds: failed,
      errorCode: 'WRONG_CURRENCY', errorMessage: 'Expected ' + CONFIG.currency, errorCategory: 'VALIDATION'
    });
  }
}

function send(method, path, headers, body) {
  var options = {method: method, headers: headers};
  if (body) {
    options.contentType = 'application/json';
    options.payload = JSON.stringify(body);
  }
  return JSON.parse(UrlFetchApp.fetch(CONFIG.baseUrl + path, options).getContentText());
}
