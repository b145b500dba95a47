import { setTimeout as sleep } from 'node:timers/promises';
import { MOST_REPAIRED_RULES, type ObservedPort, type ObservedSwitch, type SwitchSpec } from '@orrery/contract';
import type { SwitchDriver, SwitchReading } from '../drivers/switch-driver.js';
import type { Emit } from '../link/agent-event.js';
import { monotonicMs } from '../platform/monotonic.js';
import { UnkeptFlows } from './unkept-flows.js';

/** `writingMs`: how long a switch that takes in a new state may be silent. */
const PERIODS = { lookMs: 1000, probeMs: 400, deadlineMs: 1000, writingMs: 2000 };

export interface KeeperListener {
  observed(observed: ObservedSwitch): void;
  read(spec: SwitchSpec, reading: SwitchReading): void;
}

/**
 * Keeps one switch in its desired state: writes it when that changes, and restores what others change. Beside that, and
 * waiting for none of it, it probes whether the switch answers at all.
 */
export class SwitchKeeper {
  private spec: SwitchSpec | null = null;
  /** The desired state last written, and the ports at that time. */
  private applied: { spec: SwitchSpec; ports: readonly ObservedPort[] } | null = null;
  private ports: readonly ObservedPort[] = [];
  private entries: number | null = null;
  private error: string | null = null;
  /** Whether it missed the deadline of the last probe. */
  private isSilent = false;
  private isWriting = false;
  private repairs = 0;
  private repaired_rules: readonly string[] = [];
  private readonly unkept: UnkeptFlows;
  private told = '';
  private wake = new AbortController();
  private readonly stopping = new AbortController();
  private running: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly node: string,
    private readonly driver: SwitchDriver,
    private readonly emit: Emit,
    private readonly listener: KeeperListener,
    private readonly periods = PERIODS,
  ) {
    this.unkept = new UnkeptFlows((message, data) => emit('switch.flows-not-kept', node, message, data));
  }

  get desired(): SwitchSpec | null {
    return this.spec;
  }

  get observed(): ObservedSwitch {
    const { spec, applied, error } = this;
    const reached = spec === null || applied?.spec === spec;
    return {
      generation: applied?.spec.generation ?? 0,
      state: error !== null ? 'failed' : reached ? 'converged' : 'progressing',
      entries: this.entries,
      repairs: this.repairs,
      repaired_rules: [...this.repaired_rules],
      ports: [...this.ports],
      error,
    };
  }

  start(): void {
    this.running = Promise.all([this.work(), this.watch()]);
  }

  desire(spec: SwitchSpec): void {
    this.spec = spec;
    // The failure to reach a state that is no longer wanted does not matter.
    this.error = null;
    this.tell();
    this.wake.abort();
  }

  /** Resolves when nothing is in progress. The switch is left unchanged. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.wake.abort();
    await this.running;
  }

  private async work(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      this.wake = new AbortController();
      const { spec } = this;
      try {
        if (spec && !this.isSilent) await this.keep(spec);
      } catch (error) {
        // What a switch that does not answer makes of a command is known already.
        if (!this.isSilent) this.fail((error as Error).message, spec);
      }
      this.tell();
      if (this.spec === spec) await this.pause(this.periods.lookMs, this.wake.signal);
    }
  }

  private async watch(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      await this.probe();
      await this.pause(this.periods.probeMs, this.stopping.signal);
    }
  }

  private async probe(): Promise<void> {
    try {
      await this.answer();
      if (!this.isSilent) return;
      this.isSilent = false;
      // The failure lasts until a look finds the desired state.
      this.wake.abort();
    } catch (error) {
      if (this.spec === null || this.stopping.signal.aborted) return;
      this.isSilent = true;
      this.fail((error as Error).message, this.spec);
      this.tell();
    }
  }

  /** Rejects if the switch is silent for too long. One that takes in a new state may answer late. */
  private answer(): Promise<void> {
    const { deadlineMs, writingMs } = this.periods;
    return this.driver.probe(deadlineMs).catch((error) => {
      if (!this.isWriting || this.isSilent) throw error;
      return this.driver.probe(writingMs - deadlineMs);
    });
  }

  private pause(ms: number, signal: AbortSignal): Promise<void> {
    return sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);
  }

  private async keep(spec: SwitchSpec): Promise<void> {
    const ports = await this.driver.ports(spec.ports.map(({ name }) => name));
    this.tellLinks(ports);
    this.ports = ports;
    if (this.applied?.spec !== spec || renumbered(this.applied.ports, ports)) await this.write(spec, ports);
    let reading = await this.driver.read();
    if (reading.drift.length > 0) {
      const { drift, drifted_rules } = reading;
      await this.write(spec, ports);
      reading = await this.driver.read();
      this.repairs++;
      this.repaired_rules = drifted_rules.slice(0, MOST_REPAIRED_RULES);
      const message = `The switch differed from its programmed state and was restored: ${drift.join('; ')}`;
      this.emit('switch.restored', this.node, message, { drift: [...drift] });
    }
    this.listener.read(spec, reading);
    this.unkept.take(reading.unkept ?? {}, monotonicMs());
    this.entries = reading.entries;
    const missing = ports.filter(({ number }) => number === null).map(({ name }) => name);
    if (missing.length > 0) return this.fail(`the switch has no port ${missing.join(', ')}`, spec);
    if (reading.trouble !== undefined) return this.fail(reading.trouble, spec);
    if (this.error !== null) this.emit('switch.recovered', this.node, 'The switch is in its desired state', {});
    this.error = null;
  }

  private async write(spec: SwitchSpec, ports: readonly ObservedPort[]): Promise<void> {
    this.isWriting = true;
    try {
      await this.driver.apply(spec, ports);
    } finally {
      this.isWriting = false;
    }
    this.applied = { spec, ports };
  }

  private fail(message: string, spec: SwitchSpec | null): void {
    if (spec !== this.spec) return;
    if (this.error !== message) this.emit('switch.failed', this.node, message, {});
    this.error = message;
  }

  private tellLinks(ports: readonly ObservedPort[]): void {
    for (const { name, up, number } of ports) {
      const before = this.ports.find((port) => port.name === name);
      if (!before || before.up === up || number === null) continue;
      const event = up ? 'switch.port-up' : 'switch.port-down';
      this.emit(event, this.node, `Port ${name} is ${up ? 'up' : 'down'}`, { port: name });
    }
  }

  private tell(): void {
    const { observed } = this;
    const text = JSON.stringify(observed);
    if (text === this.told) return;
    this.told = text;
    this.listener.observed(observed);
  }
}

function renumbered(before: readonly ObservedPort[], now: readonly ObservedPort[]): boolean {
  return (
    JSON.stringify(before.map(({ name, number }) => [name, number])) !==
    JSON.stringify(now.map(({ name, number }) => [name, number]))
  );
}
