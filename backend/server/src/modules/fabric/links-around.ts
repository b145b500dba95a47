import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Infrastructure, LinkSample } from '@orrery/contract';
import { avoiding } from '@orrery/planner';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { downLinks, type LinkStates } from '../../ports/link-states.js';
import { SWITCH_FLEET, type SwitchFleet } from '../../ports/switch-fleet.js';
import { TELEMETRY, type Telemetry } from '../../ports/telemetry.js';

/** A link is used again when it has been up for so long. */
const STABLE_MS = 5000;
/** No link is newly told to be up or down by what the twin said longer ago. */
const SILENT_MS = 5000;

/** Links between switches that are down, or have not been up for long, by a monotonic clock. */
@Injectable()
export class LinksAround implements LinkStates, OnApplicationBootstrap {
  private readonly listeners: (() => void)[] = [];
  private samples: { readonly links: ReadonlyMap<string, LinkSample>; readonly atMs: number } = {
    links: new Map(),
    atMs: Number.NEGATIVE_INFINITY,
  };
  /** When each was last down. */
  private downMs = new Map<string, number>();
  private known: { of: Infrastructure; avoided: ReadonlySet<string>; routed: Infrastructure } | null = null;

  constructor(
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(SWITCH_FLEET) private readonly fleet: SwitchFleet,
    @Inject(TELEMETRY) private readonly telemetry: Telemetry,
  ) {}

  onApplicationBootstrap(): void {
    this.telemetry.onSamples((_, links) => {
      const atMs = performance.now();
      if (links.length > 0) this.samples = { links: new Map(links.map((link) => [link.link_id, link])), atMs };
      if (links.length > 0 || this.downMs.size > 0) this.look(atMs);
    });
    this.fleet.onChange(() => this.look(performance.now()));
  }

  get avoided(): ReadonlySet<string> {
    return new Set(this.downMs.keys());
  }

  get routed(): Infrastructure {
    const { infrastructure } = this.infrastructure.current;
    const { avoided } = this;
    if (avoided.size === 0) return infrastructure;
    if (this.known?.of !== infrastructure || !isSame(this.known.avoided, avoided))
      this.known = { of: infrastructure, avoided, routed: avoiding(infrastructure, avoided) };
    return this.known.routed;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  private look(nowMs: number): void {
    const { infrastructure } = this.infrastructure.current;
    const switches = new Set(infrastructure.switches.map(({ id }) => id));
    const links = infrastructure.links.filter(({ a, b }) => switches.has(a.node) && switches.has(b.node));
    if (links.length === 0 && this.downMs.size === 0) return;
    const emulated = nowMs - this.samples.atMs < SILENT_MS ? this.samples.links : new Map<string, LinkSample>();
    const observed = (id: string) => (this.fleet.isConnected(id) ? this.fleet.observedSwitch(id) : null);
    const down = new Set(downLinks({ links }, emulated, observed).map(({ id }) => id));
    const next = new Map<string, number>();
    for (const { id } of links) {
      const lastMs = down.has(id) ? nowMs : this.downMs.get(id);
      if (lastMs !== undefined && nowMs - lastMs < STABLE_MS) next.set(id, lastMs);
    }
    const before = this.avoided;
    this.downMs = next;
    if (!isSame(before, this.avoided)) for (const listener of this.listeners) listener();
  }
}

function isSame(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((id) => b.has(id));
}
