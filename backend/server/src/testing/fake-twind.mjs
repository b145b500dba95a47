#!/usr/bin/env node
// Answers as twind does; nothing is emulated. What changed it is in told.jsonl.
import { appendFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { 'run-dir': { type: 'string' }, 'state-dir': { type: 'string' } } });
const socket = join(values['run-dir'], 'twind.sock');
const journal = join(values['state-dir'], 'told.jsonl');
const running = join(values['state-dir'], 'traffic.json');
const BUILD_MS = 500;
const watchers = new Set();
const state = {
  generation: 0,
  phase: 'down',
  error: null,
  nodes: [],
  links: [],
  faults: [],
  fabric: { generation: 0, error: null, rules: [] },
  build_ms: null,
};
const traffic = new Map();
let trafficCount = 0;
const pcaps = new Map();

function tell(line) {
  for (const watcher of watchers) watcher.write(`${JSON.stringify(line)}\n`);
}

/** Like twind, so that a killed one starts it again when it is up. */
function noteTraffic() {
  writeFileSync(`${running}.new`, JSON.stringify([...traffic]));
  renameSync(`${running}.new`, running);
}

function interruptedTraffic() {
  try {
    return JSON.parse(readFileSync(running, 'utf8'));
  } catch {
    return [];
  }
}

/** Takes its time only when there is traffic to start again. */
function build() {
  if (state.phase !== 'down') return state.phase;
  const interrupted = interruptedTraffic();
  if (interrupted.length === 0) return 'up';
  setTimeout(() => {
    if (state.phase !== 'building') return;
    state.phase = 'up';
    for (const [id, status] of interrupted) traffic.set(id, status);
    tell({ type: 'state', state });
  }, BUILD_MS);
  return 'building';
}

function refuse(response, status, title, errors) {
  response.writeHead(status, { 'content-type': 'application/problem+json' });
  response.end(JSON.stringify({ type: 'about:blank', title, status, errors }));
}

const routes = {
  'GET /health': () => [200, { status: 'ok' }],
  'GET /capabilities': () => [
    200,
    { capabilities: [{ id: 'htb', title: 'HTB', where: 'twin', available: true, detail: 'fake', fallback: null }] },
  ],
  'GET /state': () => [200, state],
  'PUT /spec': (body) => {
    if (body.infrastructure?.name === 'refused') return null;
    Object.assign(state, { generation: body.generation, phase: body.infrastructure ? build() : 'down', build_ms: 1 });
    state.fabric.error = body.infrastructure?.name === 'unsteerable' ? 'client-1 has no port' : null;
    tell({ type: 'state', state });
    return [202, state];
  },
  'PUT /fabric': (body) => {
    state.fabric = {
      generation: body.generation,
      error: null,
      rules: body.rules.map(({ id }) => ({ id, packets: 0, bytes: 0 })),
    };
    tell({ type: 'state', state });
    return [200, state.fabric];
  },
  'GET /traffic': () => [200, { items: [...traffic.values()], total: traffic.size }],
  'POST /traffic': (body) => {
    const status = {
      id: `traffic-${++trafficCount}`,
      request: body,
      state: 'running',
      started_ms: Date.now(),
      ended_ms: null,
      sent: 0,
      received: 0,
      errors: 0,
      bits_per_second: null,
      latency_us: null,
      detail: null,
    };
    traffic.set(status.id, status);
    noteTraffic();
    return [201, status];
  },
  'POST /faults': (body) => {
    const fault = { id: `fault-${state.faults.length + 1}`, ...body, since_ms: 1 };
    state.faults.push(fault);
    return [201, fault];
  },
  'GET /pcaps': () => [200, { items: [...pcaps.values()], total: pcaps.size }],
};

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://twind');
  if (pathname === '/watch') {
    watchers.add(response);
    response.on('close', () => watchers.delete(response));
    response.write(`${JSON.stringify({ type: 'state', state })}\n`);
    return;
  }
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const bytes = Buffer.concat(chunks);
    if (pathname === '/pcaps' && request.method === 'POST') {
      const info = {
        id: `pcap-${pcaps.size + 1}`,
        name: searchParams.get('name'),
        bytes: bytes.length,
        packets: 0,
        duration_s: 0,
        link_type: 'ethernet',
        created_ms: 1,
      };
      pcaps.set(info.id, info);
      response.writeHead(201).end(JSON.stringify(info));
      return;
    }
    if (pathname.startsWith('/pcaps/') && request.method === 'DELETE') {
      const id = pathname.slice('/pcaps/'.length);
      if ([...traffic.values()].some(({ request: { pcap_id } }) => pcap_id === id))
        return refuse(response, 409, 'running traffic replays the capture');
      if (!pcaps.delete(id)) return refuse(response, 404, 'there is no such capture');
      return void response.writeHead(204).end();
    }
    if (pathname.startsWith('/traffic/') && request.method === 'DELETE') {
      if (!traffic.delete(pathname.slice('/traffic/'.length))) return refuse(response, 404, 'there is no such traffic');
      noteTraffic();
      return void response.writeHead(204).end();
    }
    const body = bytes.length > 0 ? JSON.parse(bytes.toString()) : undefined;
    const call = `${request.method} ${pathname}`;
    if (request.method !== 'GET') appendFileSync(journal, `${JSON.stringify({ pid: process.pid, call, body })}\n`);
    const answer = routes[call]?.(body);
    if (answer === null)
      return refuse(response, 422, 'cannot be built', [{ pointer: '/infrastructure', detail: 'no' }]);
    if (answer === undefined) return refuse(response, 404, 'there is no such thing');
    response.writeHead(answer[0], { 'content-type': 'application/json' }).end(JSON.stringify(answer[1]));
  });
});

for (const signal of ['SIGTERM', 'SIGINT'])
  process.on(signal, () => {
    rmSync(running, { force: true });
    process.exit(0);
  });
rmSync(socket, { force: true });
server.listen(socket);
