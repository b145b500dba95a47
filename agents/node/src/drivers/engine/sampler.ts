import type { BoardSample, EngineStats, InstanceSample, NodeSamples } from '@orrery/contract';
import type { HostedFigure, Wiring } from '../nf-driver.js';
import { type Reading, reading, sampleBetween } from './sample.js';

export interface StatsSource {
  /** Null if the engine is not running or is busy. */
  stats(): Promise<EngineStats | null>;
  readonly wiring: Wiring | null;
  /** The first reading of the running engine. */
  readonly baseline: EngineStats | null;
}

/** Figures that boards count, not the engine. */
export interface BoardFigures {
  readonly samples: BoardSample[];
  /** Of the instances in slots at switches. */
  readonly figures: InstanceSample[];
  /** Reads the boards that have such instances; resolves soon, even if one is slow. */
  refresh(): Promise<void>;
  /** Drops of an instance by reason, as its module counts them. */
  drops(instanceId: string): Record<string, number>;
}

/** Figures of NFs beside the engine, which it does not count. */
export interface HostedFigures {
  /** Reads them; resolves soon, even if an NF is slow. */
  refresh(): Promise<void>;
  /** Null: the instance runs elsewhere. */
  figures(instanceId: string): HostedFigure | null;
}

const NS_PER_MS = 1e6;

/**
 * Reads the engine at a fixed rate and passes samples on. One reading at a time: a tick during an unfinished reading is
 * skipped and counted in `lost`, as is a set that `send` could not take.
 */
export class Sampler {
  private before: Reading | null = null;
  private epoch: string | null = null;
  private lost = 0;
  private seq = -1;
  private reads = false;
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly source: StatsSource,
    private readonly boards: BoardFigures,
    private readonly hosted: readonly HostedFigures[],
    private readonly send: (samples: NodeSamples) => boolean,
    private readonly period_ms = 200,
  ) {}

  start(): void {
    this.timer ??= setInterval(() => void this.tick(), this.period_ms).unref();
  }

  stop(): void {
    if (this.timer) clearInterval(this.timer);
    this.timer = null;
  }

  async tick(): Promise<void> {
    if (this.reads) {
      this.lost++;
      return;
    }
    this.reads = true;
    try {
      const beside = [this.boards, ...this.hosted];
      const [stats] = await Promise.all([this.source.stats(), ...beside.map((it) => it.refresh())]);
      if (stats) this.take(reading(stats));
      else if (this.before) this.lost++;
    } catch {
      // The driver detects the failure itself and ends the epoch.
      this.before = null;
    } finally {
      this.reads = false;
    }
  }

  private take(now: Reading): void {
    const { wiring, baseline } = this.source;
    const { epoch } = now.stats;
    if (epoch !== this.epoch) {
      this.epoch = epoch;
      this.lost = 0;
      this.seq = -1;
      this.before = baseline?.epoch === epoch ? reading(baseline) : null;
    }
    const { before } = this;
    this.before = now;
    if (!wiring || !before || now.stats.t_ns <= before.stats.t_ns) return;
    // From the engine's own clock, so that it keeps increasing when another agent takes over within the epoch.
    this.seq = Math.max(this.seq + 1, Math.floor(now.stats.t_ns / NS_PER_MS / this.period_ms));
    const between = sampleBetween(before, now, wiring.probes);
    const samples = {
      ...between,
      instances: [...between.instances, ...this.boards.figures].map((sample) => this.withOwnFigures(sample)),
      seq: this.seq,
      t_ms: Date.now(),
      lost: this.lost,
      boards: this.boards.samples,
    };
    if (!this.send(samples)) this.lost++;
  }

  private withOwnFigures(sample: InstanceSample): InstanceSample {
    const [own] = this.hosted.flatMap((it) => it.figures(sample.instance_id) ?? []);
    return {
      ...sample,
      cpu_share: own ? own.cpu_share : sample.cpu_share,
      drops: { ...sample.drops, ...this.boards.drops(sample.instance_id), ...own?.drops },
    };
  }
}
