#!/usr/bin/env node
// Speaks the engine's control protocol without a data plane. An NF whose config has `fake` makes it misbehave: `refuse`
// (the graph is invalid), `hang` (stops answering), `die` (exits with code 3).
import { createHash, randomUUID } from 'node:crypto';
import { unlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { parseArgs } from 'node:util';

const options = { socket: { type: 'string' }, memory: { type: 'string' }, workers: { type: 'string' } };
const { values } = parseArgs({ options });
const epoch = randomUUID();
const begin = process.hrtime.bigint();
let graph = { generation: 0, modules: [], ports: [] };
let graphDigest = '';
let hangs = false;

function digested() {
  graphDigest = createHash('sha256').update(JSON.stringify(graph)).digest('hex').slice(0, 16);
  return { graph_digest: graphDigest };
}

const counters = { packets_in: 7, packets_out: 7, bytes_in: 420, bytes_out: 420, drops: {}, cycles: 1 };
const methods = {
  describe: () => ({
    version: '0.0.0',
    dpdk: 'fake',
    pid: process.pid,
    epoch,
    memory: 'no-huge',
    workers: Number(values.workers),
    generation: graph.generation,
    modules: [],
  }),
  apply: (params) => {
    const fault = (what) => params.modules.findIndex(({ config }) => config.fake === what);
    if (fault('refuse') >= 0) {
      const pointer = `/modules/${fault('refuse')}/config/rules/0`;
      return { error: { code: 'invalid-config', detail: 'must be a rule', pointer } };
    }
    if (fault('die') >= 0) process.exit(3);
    hangs = fault('hang') >= 0;
    graph = params;
    return digested();
  },
  configure: ({ module, config }) => {
    if (config.refuse) return { error: { code: 'invalid-config', detail: 'no', pointer: '/config/refuse' } };
    graph.modules.find(({ name }) => name === module).config = config;
    return digested();
  },
  // The generation stays that of the last graph, as with the engine.
  set_split: ({ module, ranges, keep_flows }) => {
    const { config } = graph.modules.find(({ name }) => name === module);
    if (keep_flows !== (config.exceptions !== undefined) || ranges.length > 2)
      return { error: { code: 'invalid-config', detail: 'no', pointer: '/ranges' } };
    config.ranges = ranges;
    return digested();
  },
  stats: () => ({
    epoch,
    t_ns: Number(process.hrtime.bigint() - begin) + 1,
    generation: graph.generation,
    graph_digest: graphDigest,
    cycles_per_second: 2.3e9,
    workers: [{ worker: 0, busy_cycles: 0, cpu_ns: 0 }],
    modules: graph.modules.map(({ name, kind }) => ({ name, kind, ...counters, queue_depth: null, latency_ns: null })),
    ports: [],
  }),
  get_state: ({ module, limit }) => {
    const config = graph.modules.find(({ name }) => name === module)?.config ?? {};
    return { module, limit, ...('speed' in config ? { speed: config.speed } : {}) };
  },
  export_state: ({ module }) => ({ flows_of: module }),
  import_state: () => ({}),
  shutdown: () => {
    setImmediate(() => process.exit(0));
    return {};
  },
};

const heartbeats = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    for (const line of String(chunk).trim().split('\n'))
      socket.write(`${JSON.stringify({ id: JSON.parse(line).id, result: {} })}\n`);
  });
});
const server = createServer((socket) => {
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      const { id, method, params } = JSON.parse(text.slice(0, end));
      text = text.slice(end + 1);
      const silent = hangs;
      if (silent) continue;
      const result = methods[method](params);
      if (!silent) socket.write(`${JSON.stringify(result.error ? { id, ...result } : { id, result })}\n`);
    }
  });
});
for (const [served, path] of [
  [heartbeats, `${values.socket}.beat`],
  [server, values.socket],
]) {
  try {
    unlinkSync(path);
  } catch {
    // There is none.
  }
  served.listen(path);
}
process.on('SIGTERM', () => process.exit(0));
