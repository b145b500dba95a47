import { z } from 'zod';
import { readJsonFile, writeDurably } from '../../platform/durable-file.js';
import { log } from '../../platform/log.js';
import type { NfStats } from './nf-client.js';

const Drops = z.record(z.string(), z.int().min(0));
type Drops = z.infer<typeof Drops>;

/**
 * Drops of an instance by reason over all runs of its NF, so that no count ever falls. Those of past runs are in a
 * file, for the next agent; what an NF drops after its last reading is lost with it.
 */
export class DropTotal {
  private former: Drops;
  private life: Pick<NfStats, 'epoch' | 'drops'> | null = null;

  constructor(private readonly file: string) {
    this.former = readJsonFile(file, Drops, (why) => log('warning', why)) ?? {};
  }

  get drops(): Drops {
    return add(this.former, this.life?.drops ?? {});
  }

  take({ epoch, drops }: Pick<NfStats, 'epoch' | 'drops'>): void {
    const before = this.life;
    if (before === null || before.epoch === epoch) {
      this.life = { epoch, drops };
      return;
    }
    this.former = this.drops;
    this.life = { epoch, drops };
    try {
      writeDurably(this.file, `${JSON.stringify(this.former)}\n`);
    } catch (error) {
      log('warning', `drop counters of earlier runs cannot be saved: ${(error as Error).message}`);
    }
  }
}

function add(one: Drops, other: Drops): Drops {
  const sum = { ...one };
  for (const [reason, count] of Object.entries(other)) sum[reason] = (sum[reason] ?? 0) + count;
  return sum;
}
