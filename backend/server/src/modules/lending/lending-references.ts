import { Inject, Injectable } from '@nestjs/common';
import type { FieldError, LendingGroupRequest } from '@orrery/contract';
import { invalid, ProblemError } from '../../platform/problem.js';
import { CHAINS, type ChainStore } from '../../ports/chain-store.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import type { StoredGroup } from './groups.js';

/** Checks what a lending group names. Chains need not be deployed: their VNFs take part as soon as they run. */
@Injectable()
export class LendingReferences {
  constructor(
    @Inject(CHAINS) private readonly chains: ChainStore,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
  ) {}

  /** Throws 422 that names each invalid field. What the group has named before may have disappeared since. */
  async require(request: LendingGroupRequest, before: StoredGroup | null): Promise<void> {
    const errors: FieldError[] = [];
    const { servers } = this.infrastructure.current.infrastructure;
    request.accelerators.forEach(({ server, kind }, n) => {
      const at = `/accelerators/${n}`;
      const isFirst = request.accelerators.findIndex((it) => it.server === server && it.kind === kind) === n;
      if (!isFirst) errors.push({ pointer: at, detail: 'is named twice', code: 'duplicate' });
      if (servers.some(({ id }) => id === server) || before?.accelerators.some((it) => it.server === server)) return;
      errors.push({ pointer: `${at}/server`, detail: `there is no server ${server}`, code: 'unknown-server' });
    });
    const known = new Set([...(before?.chains ?? []), ...(before?.nfs ?? []).map(({ chain_id }) => chain_id)]);
    const named = [
      ...request.chains.map((id, n) => [id, `/chains/${n}`] as const),
      ...request.nfs.map(({ chain_id }, n) => [chain_id, `/nfs/${n}/chain_id`] as const),
    ];
    for (const [id, pointer] of named)
      if (!known.has(id) && !(await this.exists(id)))
        errors.push({ pointer, detail: `there is no chain ${id}`, code: 'unknown-chain' });
    if (errors.length > 0) throw invalid(errors);
  }

  private async exists(chainId: string): Promise<boolean> {
    try {
      await this.chains.get(chainId);
      return true;
    } catch (error) {
      if (error instanceof ProblemError && error.status === 404) return false;
      throw error;
    }
  }
}
