import { z } from 'zod';
import { readJsonFile, writeDurably } from '../../platform/durable-file.js';
import { log } from '../../platform/log.js';
import type { BoxStats } from './box-client.js';

const Drops = z.record(z.string(), z.int().min(0));
type Drops = z.infer<typeof Drops>;

/**
 * Drops of an instance by reason over all lives of its NF, so that no count ever falls. Those of lives that ended are in a
 * file, for the next agent; what an NF dropped after it was read last ends with it.
 */
export class DropTotal {
  private former: Drops;
  private life: Pick<BoxStats, 'epoch' | 'drops'> | null = null;

  constructor(private readonly file: string) {
    this.former = readJsonFile(file, Drops, (why) => log('warning', why)) ?? {};
  }

  get drops(): Drops {
    return add(this.former, this.life?.drops ?? {});
  }

  take({ epoch, drops }: Pick<BoxStats, 'epoch' | 'drops'>): void {
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
      log('warning', `drops of an earlier life cannot be saved: ${(error as Error).message}`);
    }
  }
}

function add(one: Drops, other: Drops): Drops {
  const sum = { ...one };
  for (const [reason, count] of Object.entries(other)) sum[reason] = (sum[reason] ?? 0) + count;
  return sum;
}
