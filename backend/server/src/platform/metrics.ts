import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export const METRICS = Symbol('Metrics');

/** Prometheus metrics. Label values are bounded: route names, event types, reasons. */
export class Metrics {
  readonly registry = new Registry();
  readonly requests = new Histogram({
    name: 'orrery_http_request_seconds',
    help: 'Response time by route and status',
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
    help: 'Events dropped while the store was away',
    registers: [this.registry],
  });
  readonly eventsUnreadable = new Counter({
    name: 'orrery_events_unreadable_total',
    help: 'Log entries skipped because another version wrote them',
    registers: [this.registry],
  });
  readonly eventsUnknown = new Counter({
    name: 'orrery_events_unknown_total',
    help: 'Events of agents and the twin whose type or data violates the contract',
    labelNames: ['source'],
    registers: [this.registry],
  });
  readonly sampleSets = new Counter({
    name: 'orrery_sample_sets_total',
    help: 'Sample sets received from agents',
    registers: [this.registry],
  });
  readonly sampleKeysRefused = new Counter({
    name: 'orrery_sample_keys_refused_total',
    help: 'Samples dropped because the limit of keys was reached',
    registers: [this.registry],
  });
  readonly samplesForeign = new Counter({
    name: 'orrery_samples_foreign_total',
    help: 'Samples of agents about parts that their node does not run',
    registers: [this.registry],
  });
  readonly answersEvicted = new Counter({
    name: 'orrery_idempotency_answers_evicted_total',
    help: 'Answers to requests with an Idempotency-Key forgotten before a day was over, because there were too many',
    registers: [this.registry],
  });
  readonly streamClients = new Gauge({
    name: 'orrery_stream_clients',
    help: 'Connected consoles',
    registers: [this.registry],
  });
  readonly eventStreamClients = new Gauge({
    name: 'orrery_event_stream_clients',
    help: 'Connected readers of server-sent events',
    registers: [this.registry],
  });
  readonly streamCut = new Counter({
    name: 'orrery_stream_clients_cut_total',
    help: 'Consoles disconnected because they did not read',
    registers: [this.registry],
  });
  readonly guests = new Gauge({
    name: 'orrery_guests',
    help: 'Connections that have not signed in yet',
    registers: [this.registry],
  });
  readonly guestsEvicted = new Counter({
    name: 'orrery_guests_evicted_total',
    help: 'Connections closed before they signed in, because others needed their place',
    registers: [this.registry],
  });
  readonly agentsSlowed = new Counter({
    name: 'orrery_agents_slowed_total',
    help: 'Times that an agent sent more than it may and was read more slowly',
    registers: [this.registry],
  });
  readonly agentEventsDropped = new Counter({
    name: 'orrery_agent_events_dropped_total',
    help: 'Events of agents that were not recorded because they sent too many',
    registers: [this.registry],
  });
  readonly agents = new Gauge({
    name: 'orrery_agents_connected',
    help: 'Connected agents',
    registers: [this.registry],
  });
  readonly redisRestarts = new Gauge({
    name: 'orrery_redis_restarts',
    help: 'Restarts of the private Redis',
    registers: [this.registry],
  });
  readonly entriesUnreadable = new Gauge({
    name: 'orrery_state_entries_unreadable',
    help: 'Stored entries that this version cannot read, by Redis key',
    labelNames: ['key'],
    registers: [this.registry],
  });
  readonly twinRestarts = new Counter({
    name: 'orrery_twin_restarts_total',
    help: 'Restarts of the twin',
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry, prefix: 'orrery_' });
  }
}
