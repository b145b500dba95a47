import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { type AgentMethod, EVENTS, P4CellsRequest, SwitchSpec, TraceRequest } from '@orrery/contract';
import { z } from 'zod';
import { DesiredStore } from '../desired-store.js';
import { agentEvent, type Emit } from '../link/agent-event.js';
import { CredentialStore } from '../link/credential-store.js';
import { EventOutbox } from '../link/event-outbox.js';
import { DEFAULT_LINK, type Desired, ServerLink } from '../link/server-link.js';
import { log } from '../platform/log.js';
import { VERSION } from '../version.js';
import { ProgramStore } from './program-store.js';
import type { ConfiguredSwitch } from './switch-config.js';
import { SWITCH_DRIVERS } from './switch-drivers.js';
import { SwitchKeeper } from './switch-keeper.js';
import type { SwitchOptions } from './switch-options.js';
import { SwitchSampler } from './switch-samples.js';

const Cursor = z.object({ after: z.int().min(0) });
const OfSplit = z.object({ split: z.int().min(1).max(0xffff) });

/** One switch: its keeper, its saved state and its own connection to the server. */
export class SwitchAgent {
  private readonly store: DesiredStore<typeof SwitchSpec>;
  private readonly programs: ProgramStore;
  private readonly keeper: SwitchKeeper;
  private readonly link: ServerLink;
  private readonly sampler = new SwitchSampler((samples) => this.link.samples({ type: 'switch-samples', samples }));

  constructor(
    private readonly options: Pick<SwitchOptions, 'server' | 'origin' | 'ca' | 'state_dir'>,
    private readonly configured: ConfiguredSwitch,
  ) {
    const { node, join_token, driver } = configured;
    const state_dir = join(options.state_dir, node);
    mkdirSync(state_dir, { recursive: true, mode: 0o700 });
    chmodSync(state_dir, 0o700);
    this.store = new DesiredStore(state_dir, SwitchSpec);
    this.programs = new ProgramStore(state_dir);
    this.keeper = new SwitchKeeper(node, driver, this.emit, {
      observed: (observed) => this.link.observed({ type: 'switch-observed', observed }),
      read: (spec, reading) => this.sampler.take(spec, reading),
    });
    this.link = new ServerLink(
      { url: options.server, ca: options.ca, node, join_token, ...DEFAULT_LINK },
      new CredentialStore(state_dir, node),
      new EventOutbox(),
      {
        hello: () => this.hello(),
        desired: (message, first) => this.desired(message, first),
        call: ({ method, params }) => this.call(method, params),
        invalid: (why) => this.emit('agent.bad-message', node, `Message from the server ignored: ${why}`, {}),
      },
    );
  }

  /** Resumes from the saved state, then connects. */
  start(): void {
    const spec = this.store.read();
    const program = spec?.program && this.programs.read();
    if (program) this.configured.driver.programs?.take(program);
    if (spec) this.keeper.desire(spec);
    this.keeper.start();
    this.link.start();
  }

  /** The switch keeps forwarding as programmed. */
  async stop(): Promise<void> {
    await this.keeper.stop();
    await setImmediate();
    await this.link.stop();
  }

  private readonly emit: Emit = (event, subject, message, data) => {
    log(EVENTS[event].severity, `${event} ${subject}: ${message}`);
    this.link.event(agentEvent(event, subject, message, data, Date.now()));
  };

  private async call(method: AgentMethod, params: Record<string, unknown>): Promise<unknown> {
    const { driver, kind } = this.configured;
    const { tracer, programs } = driver;
    if (method === 'read_kept') {
      if (!driver.kept) throw new Error(`/method: a switch of the driver ${kind.kind} keeps no flows`);
      return driver.kept(OfSplit.parse(params).split);
    }
    if (method === 'read_program' || method === 'read_cells') {
      if (!programs) throw new Error(`/method: a switch of the driver ${kind.kind} runs no P4 program`);
      return method === 'read_program' ? programs.tables() : programs.cells(P4CellsRequest.parse(params));
    }
    if (method !== 'arm_traces' && method !== 'read_traces') throw new Error(`/method: a switch has no ${method}`);
    if (!tracer) throw new Error(`/method: a switch of the driver ${kind.kind} leaves no traces`);
    if (method === 'read_traces') return tracer.read(Cursor.parse(params).after);
    await tracer.arm(TraceRequest.parse(params));
    return tracer.read(Number.MAX_SAFE_INTEGER);
  }

  private async hello() {
    const { kind, driver } = this.configured;
    const software = await driver.describe().catch(() => null);
    return {
      type: 'switch-hello' as const,
      origin: this.options.origin,
      version: VERSION,
      description: { driver: kind.kind, software, abilities: kind.abilities },
      drivers: Object.fromEntries(SWITCH_DRIVERS.map((one) => [one.kind, one.abilities])),
      observed: this.keeper.observed,
    };
  }

  private desired(message: Desired, first: boolean): void {
    const { node } = this.configured;
    if (message.type !== 'switch-desired') {
      this.emit('agent.bad-message', node, 'Message from the server ignored: it is for a server', {});
      return;
    }
    const { spec, program } = message;
    const { desired } = this.keeper;
    if (!first && desired && spec.generation < desired.generation) {
      log('warning', `${node}: generation ${spec.generation} arrived after ${desired.generation} and is ignored`);
      return;
    }
    const isKnown = desired !== null && JSON.stringify(spec) === JSON.stringify(desired);
    if (program) this.configured.driver.programs?.take(program);
    try {
      // Before the specification that names it, so that a restart finds both.
      if (program) this.programs.write(program);
      if (!isKnown) this.store.write(spec);
    } catch (error) {
      const why = `Generation ${spec.generation} cannot be saved for a restart: ${(error as Error).message}`;
      this.emit('agent.state-not-saved', node, why, {});
    }
    if (!isKnown) this.keeper.desire(spec);
    // The saved program may have been damaged: the switch waits for it.
    else if (program && this.keeper.observed.state === 'failed') this.keeper.desire(desired);
  }
}
