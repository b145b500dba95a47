import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export const METRICS = Symbol('Metrics');

/** What Prometheus reads. Labels are bounded: route names, event types, reasons. */
export class Metrics {
  readonly registry = new Registry();
  readonly requests = new Histogram({
    name: 'orrery_http_request_seconds',
    help: 'Time to answer, by route of the contract and status',
    labelNames: ['route', 'status'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2],
    registers: [this.registry],
  });
  readonly events = new Counter({
    name: 'orrery_events_total',
    help: 'Events written to the log',
    labelNames: ['type'],
    registers: [this.registry],
  });
  readonly eventsLost = new Counter({
    name: 'orrery_events_lost_total',
    help: 'Events that could not be kept while the store was away',
    registers: [this.registry],
  });
  readonly sampleSets = new Counter({
    name: 'orrery_sample_sets_total',
    help: 'Sample sets taken from agents',
    registers: [this.registry],
  });
  readonly sampleKeysRefused = new Counter({
    name: 'orrery_sample_keys_refused_total',
    help: 'Samples of keys beyond the bound',
    registers: [this.registry],
  });
  readonly streamClients = new Gauge({
    name: 'orrery_stream_clients',
    help: 'Consoles that are connected',
    registers: [this.registry],
  });
  readonly eventStreamClients = new Gauge({
    name: 'orrery_event_stream_clients',
    help: 'Readers of server-sent events that are connected',
    registers: [this.registry],
  });
  readonly streamCut = new Counter({
    name: 'orrery_stream_clients_cut_total',
    help: 'Consoles that were disconnected because they did not read',
    registers: [this.registry],
  });
  readonly agents = new Gauge({
    name: 'orrery_agents_connected',
    help: 'Agents that are connected',
    registers: [this.registry],
  });
  readonly redisRestarts = new Gauge({
    name: 'orrery_redis_restarts',
    help: 'Times that the private Redis was started again',
    registers: [this.registry],
  });
  readonly twinRestarts = new Counter({
    name: 'orrery_twin_restarts_total',
    help: 'Times that the twin was started again',
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry, prefix: 'orrery_' });
  }
}
