import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ApplicationSpec, ApplicationsSpec, TimestampMs } from '@orrery/contract';
import { z } from 'zod';
import { readJsonFile, writeDurably } from '../../platform/durable-file.js';
import { log } from '../../platform/log.js';

const Run = z.strictObject({
  spec: ApplicationSpec,
  started_ms: TimestampMs,
  completed_ms: TimestampMs.nullable(),
  metrics: z.record(z.string(), z.number()),
});
export type Run = z.infer<typeof Run>;

const Journal = z.strictObject({ desired: ApplicationsSpec, runs: z.array(Run) });
export type Journal = z.infer<typeof Journal>;

const NOTHING: Journal = { desired: { generation: 0, applications: [] }, runs: [] };

/** What should run, when each run began and which are over: the next agent continues the rest and repeats nothing. */
export class ApplicationJournal {
  private readonly path: string;

  constructor(stateDir: string) {
    this.path = join(stateDir, 'applications.json');
  }

  read(): Journal {
    return readJsonFile(this.path, Journal, (why) => log('warning', why)) ?? NOTHING;
  }

  write(journal: Journal): void {
    writeDurably(this.path, `${JSON.stringify(journal)}\n`);
  }
}

export const isRunOf = ({ spec }: Run, wanted: ApplicationSpec): boolean => isDeepStrictEqual(spec, wanted);
