import { Inject, Injectable } from '@nestjs/common';
import { type Chain, type FieldError, type LendingGroupRequest, type NfRef, nfInstances } from '@orrery/contract';
import { invalid, ProblemError } from '../../platform/problem.js';
import { CHAINS, type ChainStore } from '../../ports/chain-store.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { DESCRIPTORS, type NfDescriptors } from '../../ports/descriptor-catalogue.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import type { StoredGroup } from './groups.js';

/** Checks what a lending group names. Chains need not be deployed: their VNFs take part as soon as they run. */
@Injectable()
export class LendingReferences {
  constructor(
    @Inject(CHAINS) private readonly chains: ChainStore,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(DESCRIPTORS) private readonly descriptors: NfDescriptors,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
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
    for (const [n, id] of request.chains.entries())
      if (!known.has(id) && !(await this.find(id))) errors.push(unknownChain(`/chains/${n}`, id));
    for (const [n, nf] of request.nfs.entries())
      if (!before?.nfs.some((it) => it.chain_id === nf.chain_id && it.node_id === nf.node_id))
        errors.push(...(await this.faultsOf(nf, `/nfs/${n}`)));
    if (errors.length > 0) throw invalid(errors);
  }

  /** An NF may be of the draft, or of what runs. */
  private async faultsOf({ chain_id, node_id }: NfRef, at: string): Promise<FieldError[]> {
    const chain = await this.find(chain_id);
    if (!chain) return [unknownChain(`${at}/chain_id`, chain_id)];
    const drafted = chain.draft.nodes.flatMap((node) => (node.kind === 'nf' && node.id === node_id ? [node.nf] : []));
    const running = nfInstances(this.view.plan?.graph)
      .filter((it) => it.chain_id === chain_id && it.node_id === node_id)
      .map(({ nf }) => nf);
    const kinds = [...drafted, ...running];
    const pointer = `${at}/node_id`;
    if (kinds.length === 0) return [{ pointer, detail: `${chain_id} has no NF ${node_id}`, code: 'unknown-nf' }];
    if (kinds.some((nf) => this.descriptors.find(nf)?.acceleration)) return [];
    return [{ pointer, detail: `${kinds[0]} cannot be switched to an accelerator`, code: 'not-switchable' }];
  }

  /** Null: there is none. */
  private async find(chainId: string): Promise<Chain | null> {
    try {
      return await this.chains.get(chainId);
    } catch (error) {
      if (error instanceof ProblemError && error.status === 404) return null;
      throw error;
    }
  }
}

function unknownChain(pointer: string, id: string): FieldError {
  return { pointer, detail: `there is no chain ${id}`, code: 'unknown-chain' };
}
