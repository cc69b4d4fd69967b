/**
 * Runs a Google Ads Script under Node, with stand-ins for the globals of Google's runtime.
 *
 * Reads from stdin {source, config, preview, answers, applyThrows, spoiled, summaries, secondsPerCall} and writes to stdout
 * {queries, uploads, requests, logs, sleeps, error}. Calls are real HTTP unless `answers` says otherwise:
 *
 * answers: [{path, times, reaches, throws, status, headers, body}], the first fitting one is used `times` times (once).
 *   With `reaches` the server gets the call and only its answer is replaced. `throws` is a network error's message.
 * applyThrows: {column: message} for uploads with that column.
 * spoiled: {row id: {field: value}} changes rows on their way from the export to the script.
 * summaries: the rows that AdsApp.search() finds; with null it throws, as in an account that cannot answer.
 * secondsPerCall: {path: seconds} is how long the script's clock runs during each call.
 */
'use strict';

const fs = require('node:fs');
const http = require('node:http');
const vm = require('node:vm');
const {MessageChannel, Worker, isMainThread, receiveMessageOnPort, workerData} = require('node:worker_threads');

const EXPORT_PATH = '/api/oci/google-ads-export';
const LONGEST_SLEEP = 300000; // what Utilities.sleep() allows
const HTTP_TIMEOUT = 180000; // only a failure waits so long

if (isMainThread) {
  runScript(JSON.parse(fs.readFileSync(0, 'utf8')));
} else {
  answerCalls(workerData);
}

function runScript(circumstances) {
  const seen = {queries: [], uploads: [], requests: [], logs: [], sleeps: [], error: null};
  const clock = {skipped: 0};
  // A context has the language and nothing else, so a script that reaches for more than these four fails.
  const context = vm.createContext({
    AdsApp: standInAdsApp(circumstances, seen),
    UrlFetchApp: standInUrlFetchApp(circumstances, seen, clock),
    Utilities: {
      sleep(milliseconds) {
        if (!(milliseconds >= 0 && milliseconds <= LONGEST_SLEEP)) throw new Error(`Cannot sleep ${milliseconds} ms.`);
        seen.sleeps.push(milliseconds / 1000);
        clock.skipped += milliseconds;
      },
    },
    Logger: {log: text => seen.logs.push(String(text))},
  });
  vm.runInContext('Date', context).now = () => Date.now() + clock.skipped;
  try {
    vm.runInContext(circumstances.source, context, {filename: 'script.js'});
    vm.runInContext(`Object.assign(CONFIG, ${JSON.stringify(circumstances.config || {})})`, context);
    vm.runInContext('main()', context);
  } catch (error) {
    seen.error = error.message;
  }
  process.stdout.write(JSON.stringify(seen));
}

function standInAdsApp({preview = false, applyThrows = {}, summaries = []}, seen) {
  return {
    getExecutionInfo: () => ({isPreview: () => preview}),
    currentAccount: () => ({getCustomerId: () => '123-456-7890', getTimeZone: () => 'Europe/Istanbul'}),
    search(query) {
      seen.queries.push(query);
      if (summaries === null) throw new Error('This account has no upload summaries.');
      const left = [...summaries];
      return {hasNext: () => left.length > 0, next: () => left.shift()};
    },
    bulkUploads: () => ({
      newCsvUpload(columns, options = {}) {
        const record = {columns, options, offline: false, rows: [], outcome: 'open'};
        seen.uploads.push(record);
        const upload = {
          forOfflineConversions() {
            record.offline = true;
            return upload;
          },
          append(row) {
            record.rows.push(columns.map(column => column in row ? row[column] : ''));
            return upload;
          },
          apply() {
            const column = columns.find(name => name in applyThrows);
            record.outcome = column ? 'threw' : preview ? 'previewed' : 'applied';
            if (column) throw new Error(applyThrows[column]);
            if (record.offline && !options.timeZone) throw new Error('Offline conversions need a time zone.');
          },
        };
        return upload;
      },
    }),
  };
}

function standInUrlFetchApp({answers = [], spoiled = {}, secondsPerCall = {}}, seen, clock) {
  const send = openLine();
  const left = answers.map(answer => ({times: 1, ...answer}));
  const standIn = {
    fetch(address, options = {}) {
      const url = new URL(address);
      const query = Object.fromEntries(url.searchParams);
      const headers = {...options.headers};
      if (options.contentType) headers['Content-Type'] = options.contentType;
      const method = (options.method || 'get').toUpperCase();
      const request = {method, path: url.pathname, query, headers, body: options.payload || null};
      seen.requests.push(request);
      clock.skipped += (secondsPerCall[url.pathname] || 0) * 1000;
      const made = left.find(answer => answer.path === url.pathname && answer.times > 0);
      if (made) made.times -= 1;
      const answer = made && !made.reaches ? made : {...send({...request, address}), ...made};
      if (answer.throws) throw new Error(answer.throws);
      request.status = answer.status;
      if (answer.status >= 400 && !options.muteHttpExceptions) throw new Error(`Request failed: ${answer.status}`);
      const elsewhere = answer.status >= 300 && answer.status < 400 && answer.headers.Location;
      if (elsewhere && options.followRedirects !== false) return standIn.fetch(elsewhere, options);
      const text = url.pathname === EXPORT_PATH ? spoil(answer.body, spoiled) : answer.body;
      return {
        getResponseCode: () => answer.status,
        getContentText: () => text || '',
        getHeaders: () => answer.headers || {},
      };
    },
  };
  return standIn;
}

function spoil(text, spoiled) {
  if (Object.keys(spoiled).length === 0 || !text.startsWith('[')) return text;
  return JSON.stringify(JSON.parse(text).map(row => ({...row, ...spoiled[row.id]})));
}

/** Return a function that sends a request from another thread and blocks until its answer is there. */
function openLine() {
  const {port1: here, port2: there} = new MessageChannel();
  const answered = new Int32Array(new SharedArrayBuffer(4));
  new Worker(__filename, {workerData: {port: there, answered}, transferList: [there]}).unref();
  return request => {
    Atomics.store(answered, 0, 0);
    here.postMessage(request);
    if (Atomics.wait(answered, 0, 0, HTTP_TIMEOUT) === 'timed-out') return {throws: 'Timed out'};
    return receiveMessageOnPort(here).message;
  };
}

function answerCalls({port, answered}) {
  port.on('message', request => {
    const answer = message => {
      port.postMessage(message);
      Atomics.store(answered, 0, 1);
      Atomics.notify(answered, 0);
    };
    // No agent: a connection kept open would keep its server thread, and that thread its database connection.
    const {address, method, headers, body} = request;
    const call = http.request(address, {agent: false, method, headers}, response => {
      const parts = [];
      response.on('data', part => parts.push(part));
      response.on('end', () => answer({
        status: response.statusCode, headers: response.headers, body: Buffer.concat(parts).toString('utf8'),
      }));
    });
    call.on('error', error => answer({throws: error.message}));
    call.end(body || undefined);
  });
}
