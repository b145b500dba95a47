import { Inject, Injectable } from '@nestjs/common';
import type { Infrastructure } from '@orrery/contract';
import { CONFIG, type Config } from '../../platform/config.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';

/** How long a twin stays up after a check of an infrastructure, until that infrastructure is stored. */
const LINGER_MS = 2000;

/** Whether a twin is needed: the infrastructure has emulated parts, or a new one is being checked. */
@Injectable()
export class TwinDemand {
  readonly enabled: boolean;
  private visitors = 0;
  private readonly listeners: (() => void)[] = [];

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
  ) {
    this.enabled = config.twin.enabled;
    infrastructure.onChange(() => this.tell());
  }

  get isWanted(): boolean {
    return this.visitors > 0 || isEmulated(this.infrastructure.current.infrastructure);
  }

  /** Revision of the infrastructure. */
  get revision(): number {
    return this.infrastructure.current.revision;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Keeps the twin up, whatever the infrastructure, until shortly after `work` ends. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.visitors++;
    this.tell();
    try {
      return await work();
    } finally {
      setTimeout(() => {
        this.visitors--;
        this.tell();
      }, LINGER_MS).unref();
    }
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

/** Whether any part of it is emulated. */
export function isEmulated({ servers, switches, hosts }: Infrastructure): boolean {
  return [...servers, ...switches, ...hosts].some(({ origin }) => origin === 'twin');
}
