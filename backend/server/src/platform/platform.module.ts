import { type DynamicModule, Module } from '@nestjs/common';
import { trustOf } from './client-address.js';
import { CONFIG, type Config } from './config.js';
import { CONTROL_LOOPS, ControlLoops } from './control-loop/control-loops.js';
import { COLLECTIONS, Collections } from './durable-collection/collections.js';
import { LOG, type Log } from './log.js';
import { METRICS, Metrics } from './metrics.js';
import { PROBES, Probes } from './probes.js';
import { STORE, type Store } from './redis.js';
import { SOCKETS, Sockets } from './sockets.js';

export interface PlatformParts {
  readonly config: Config;
  readonly log: Log;
  readonly store: Store;
}

@Module({})
class PlatformModule {}

/** Services available to every module. */
export function platformModule({ config, log, store }: PlatformParts): DynamicModule {
  const metrics = new Metrics();
  const providers = [
    { provide: CONFIG, useValue: config },
    { provide: LOG, useValue: log },
    { provide: STORE, useValue: store },
    { provide: COLLECTIONS, useValue: new Collections(store, log) },
    { provide: CONTROL_LOOPS, useValue: new ControlLoops(log) },
    { provide: METRICS, useValue: metrics },
    { provide: PROBES, useValue: new Probes() },
    { provide: SOCKETS, useValue: new Sockets({ trust: trustOf(config.trustedProxies), metrics }) },
  ];
  return { module: PlatformModule, global: true, providers, exports: providers.map(({ provide }) => provide) };
}
