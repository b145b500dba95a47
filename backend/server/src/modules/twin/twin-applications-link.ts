import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { ApplicationsSpec, ObservedApplications } from '@orrery/contract';
import type { TwinApplications } from '../../ports/twin-applications.js';
import { TwinKeeper } from './twin-keeper.js';
import { TwinReports } from './twin-reports.js';
import { TwindClient } from './twind-client.js';

/** Sends the applications of emulated hosts to twind, and keeps its reports. */
@Injectable()
export class TwinApplicationsLink implements TwinApplications, OnModuleInit {
  observed: ObservedApplications | null = null;
  private starts = 0;
  private isRunning = false;
  private readonly listeners: (() => void)[] = [];

  constructor(
    @Inject(TwinKeeper) private readonly keeper: TwinKeeper,
    @Inject(TwinReports) private readonly reports: TwinReports,
    @Inject(TwindClient) private readonly client: TwindClient,
  ) {}

  onModuleInit(): void {
    this.keeper.onChange(() => this.look());
    this.reports.onApplications((observed) => {
      this.observed = observed;
    });
  }

  get incarnation(): number | null {
    return this.isRunning ? this.starts : null;
  }

  get away(): string | null {
    const { enabled, daemon, detail } = this.keeper.status();
    if (!enabled) return 'the twin is off (ORRERY_TWIN=off)';
    if (daemon === 'off') return 'there is no twin: the infrastructure has no emulated nodes';
    return daemon === 'running' ? null : `the twin does not answer${detail ? `: ${detail}` : ''}`;
  }

  async put(spec: ApplicationsSpec, signal: AbortSignal): Promise<void> {
    const answer = await this.client.json<ObservedApplications>('PUT', '/applications', spec, signal);
    // Reports of the same generation that came meanwhile are newer.
    if (this.observed?.generation !== answer.generation) this.observed = answer;
  }

  onIncarnation(listener: () => void): void {
    this.listeners.push(listener);
  }

  private look(): void {
    if (this.keeper.isRunning === this.isRunning) return;
    this.isRunning = this.keeper.isRunning;
    if (!this.isRunning) return;
    this.starts++;
    for (const listener of this.listeners) listener();
  }
}
