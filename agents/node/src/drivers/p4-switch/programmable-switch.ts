import type { KeptFlowKey, ObservedPort, SwitchSpec } from '@orrery/contract';
import type { P4Switch } from '../p4-fabric/p4-switch.js';
import type { OwnSwitch } from '../p4-own/own-switch.js';
import type { SwitchDriver, SwitchReading } from '../switch-driver.js';

/** A P4 switch that runs what its specification asks for: the program of the fabric, or that of a user. */
export class ProgrammableSwitch implements SwitchDriver {
  private runs: Pick<SwitchDriver, 'read'>;

  constructor(
    private readonly fabric: P4Switch,
    readonly programs: OwnSwitch,
  ) {
    this.runs = fabric;
  }

  get tracer() {
    return this.fabric.tracer;
  }

  describe(): Promise<string> {
    return this.fabric.describe();
  }

  probe(deadlineMs: number): Promise<void> {
    return this.fabric.probe(deadlineMs);
  }

  ports(names: readonly string[]): Promise<ObservedPort[]> {
    return this.fabric.ports(names);
  }

  async apply(spec: SwitchSpec, ports: readonly ObservedPort[]): Promise<void> {
    if (spec.program) {
      await this.programs.apply(spec.program, ports);
      this.runs = this.programs;
    } else {
      this.programs.leave();
      await this.fabric.apply(spec, ports);
      this.runs = this.fabric;
    }
  }

  read(): Promise<SwitchReading> {
    return this.runs.read();
  }

  kept(split: number): Promise<readonly KeptFlowKey[]> {
    return this.fabric.kept(split);
  }
}
