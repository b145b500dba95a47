#!/usr/bin/env node
// Answers as twind does; nothing is emulated. What changed it is in told.jsonl.
import { appendFileSync, existsSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { 'run-dir': { type: 'string' }, 'state-dir': { type: 'string' } } });
const socket = join(values['run-dir'], 'twind.sock');
const journal = join(values['state-dir'], 'told.jsonl');
const watchers = new Set();
const state = {
  generation: 0,
  phase: 'down',
  error: null,
  nodes: [],
  links: [],
  faults: [],
  build_ms: null,
};
const replayed = new Set();
const observed = { generation: 0, applications: [] };
const pcaps = new Map();
const captures = new Map();

/** While it is silent, it answers, but reports nothing. */
let isSilent = false;
process.on('SIGUSR2', () => {
  isSilent = true;
});

function tell(line) {
  if (isSilent) return;
  for (const watcher of watchers) watcher.write(`${JSON.stringify(line)}\n`);
}

/** Everything that is enabled runs at once. */
function runApplications(spec) {
  observed.generation = spec.generation;
  observed.applications = spec.applications.map(({ definition, revision }) => ({
    id: definition.id,
    revision,
    state: definition.enabled ? 'running' : 'stopped',
    since_ms: 1,
    detail: null,
    restarts: 0,
    pid: definition.enabled ? 1 : null,
    metrics: definition.enabled ? { sent: 5 } : {},
  }));
  for (const { definition } of spec.applications)
    if (definition.config.pcap_id) replayed.add(definition.config.pcap_id);
  tell({ type: 'applications', observed });
  return observed;
}

function refuse(response, status, title, errors) {
  response.writeHead(status, { 'content-type': 'application/problem+json' });
  response.end(JSON.stringify({ type: 'about:blank', title, status, errors }));
}

/** While the file is there, it is about what it was told last, and has not reached it. */
const isHeld = () => existsSync(join(values['state-dir'], 'held'));
let wanted = null;
function reach() {
  if (wanted && !isHeld()) {
    Object.assign(state, wanted);
    wanted = null;
  }
  tell({ type: 'state', state });
}

/** A machine that lacks it, by the name of the infrastructure, or from when a file says so. */
function withoutBmv2({ name, switches }) {
  const index = switches.findIndex(({ driver }) => driver === 'bmv2');
  const isLacking = name === 'without-bmv2' || existsSync(join(values['state-dir'], 'without-bmv2'));
  if (!isLacking || index < 0) return undefined;
  return { pointer: `/infrastructure/switches/${index}/driver`, detail: 'driver bmv2 is not available here: use ovs' };
}

const routes = {
  'GET /health': () => [200, { status: 'ok' }],
  'GET /capabilities': () => [
    200,
    { capabilities: [{ id: 'htb', title: 'HTB', where: 'twin', available: true, detail: 'fake', fallback: null }] },
  ],
  'GET /state': () => [200, state],
  'POST /spec/check': ({ infrastructure }) =>
    infrastructure.name === 'refused' ? null : (withoutBmv2(infrastructure) ?? [204, null]),
  'PUT /spec': (body) => {
    if (body.infrastructure?.name === 'refused-later') return null;
    const phase = body.infrastructure?.name === 'long-to-build' ? 'building' : body.infrastructure ? 'up' : 'down';
    wanted = { generation: body.generation, phase, build_ms: 1 };
    reach();
    return [202, state];
  },
  'PUT /applications': (body) => [202, runApplications(body)],
  'POST /faults': (body) => {
    const fault = { id: `fault-${state.faults.length + 1}`, ...body, since_ms: 1 };
    state.faults.push(fault);
    if (body.kind === 'link-down') {
      const idle = { a_to_b_bps: 0, b_to_a_bps: 0, utilization: 0, drops: 0 };
      state.links = [{ link_id: body.target, t_ms: 1, up: false, ...idle }];
      tell({ type: 'links', links: state.links });
    }
    return [201, fault];
  },
  'POST /captures': (request) => {
    const running = { state: 'running', packets: [], stopped_by: null, elapsed_s: null, detail: null };
    captures.set('capture-1', { id: 'capture-1', request, ...running });
    return [201, captures.get('capture-1')];
  },
  'POST /captures/capture-1/stop': () => [
    200,
    Object.assign(captures.get('capture-1'), { state: 'completed', stopped_by: 'user', elapsed_s: 1 }),
  ],
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
      if (replayed.has(id)) return refuse(response, 409, 'an application replays the capture');
      if (!pcaps.delete(id)) return refuse(response, 404, 'there is no such capture');
      return void response.writeHead(204).end();
    }
    const body = bytes.length > 0 ? JSON.parse(bytes.toString()) : undefined;
    const call = `${request.method} ${pathname}`;
    if (request.method !== 'GET') appendFileSync(journal, `${JSON.stringify({ pid: process.pid, call, body })}\n`);
    const answer = routes[call]?.(body);
    if (answer === null)
      return refuse(response, 422, 'cannot be built', [{ pointer: '/infrastructure/links/2/delay_us', detail: 'no' }]);
    if (answer?.pointer) return refuse(response, 422, 'cannot be built', [answer]);
    if (answer === undefined) return refuse(response, 404, 'there is no such thing');
    if (answer[0] === 204) return void response.writeHead(204).end();
    response.writeHead(answer[0], { 'content-type': 'application/json' }).end(JSON.stringify(answer[1]));
  });
});

setInterval(reach, 500);
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0));
rmSync(socket, { force: true });
server.listen(socket);
