/**
 * A script as agencies have it for many sites: it opens with the handshake, collects pages as long as the answer names
 * a next one, in `meta` or as `next_cursor`, and uploads them at once, with hashed phones in a column of their own.
 */
var CONFIG = {baseUrl: '', siteId: '', apiKey: '', limit: 2, maxPages: 10};

function main() {
  var session = send('post', '/api/oci/v2/verify', {'x-api-key': CONFIG.apiKey}, {siteId: CONFIG.siteId});
  var bearer = {Authorization: 'Bearer ' + session.session_token};
  var rows = [], cursor = null;
  for (var number = 0; number < CONFIG.maxPages; number++) {
    var page = fetchPage(bearer, cursor);
    rows = rows.concat(page.items);
    cursor = page.cursor;
    if (!page.items.length || !page.hasMore || !cursor) break;
  }

  var upload = AdsApp.bulkUploads().newCsvUpload(
    ['Order ID', 'Google Click ID', 'Hashed Phone Number', 'Conversion Name', 'Conversion Time', 'Conversion Value'],
    {moneyInMicros: false, timeZone: 'Europe/Istanbul'});
  upload.forOfflineConversions();
  rows.forEach(function (row) {
    upload.append({
      'Order ID': row.orderId,
      'Google Click ID': row.gclid,
      'Hashed Phone Number': row.hashedPhoneNumber || '',
      'Conversion Name': row.conversionName,
      'Conversion Time': row.conversionTime,
      'Conversion Value': row.conversionValue
    });
  });
  upload.apply();
  send('post', '/api/oci/ack', bearer, {
    siteId: CONFIG.siteId, queueIds: rows.map(function (row) { return row.id; }), pendingConfirmation: true
  });
}

function fetchPage(bearer, cursor) {
  var path = '/api/oci/google-ads-export?siteId=' + CONFIG.siteId + '&markAsExported=true&providerKey=google_ads&limit=' +
    CONFIG.limit + '&paged=true';
  var answer = send('get', path + (cursor ? '&cursor=' + encodeURIComponent(cursor) : ''), bearer);
  if (Array.isArray(answer)) return {items: answer, cursor: null, hasMore: false};
  return {
    items: answer.data || answer.items || [],
    cursor: CONFIG.reads === 'meta' ? answer.meta && answer.meta.nextCursor : answer.next_cursor || null,
    hasMore: CONFIG.reads === 'meta' ? !!answer.meta && answer.meta.hasNextPage === true : !!answer.next_cursor
  };
}

function send(method, path, headers, body) {
  var options = {method: method, headers: headers};
  if (body) {
    options.contentType = 'application/json';
    options.payload = JSON.stringify(body);
  }
  return JSON.parse(UrlFetchApp.fetch(CONFIG.baseUrl + path, options).getContentText());
}
