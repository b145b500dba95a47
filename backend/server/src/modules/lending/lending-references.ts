import { Inject, Injectable } from '@nestjs/common';
import {
  acceleratorName,
  type Chain,
  type FieldError,
  type LendingGroupRequest,
  type NfRef,
  nfInstances,
} from '@orrery/contract';
import { invalid, ProblemError } from '../../platform/problem.js';
import { BOARDS, type BoardView } from '../../ports/board-view.js';
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
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(DESCRIPTORS) private readonly descriptors: NfDescriptors,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
  ) {}

  /** Throws 422 that names each invalid field. What the group has named before may have disappeared since. */
  async require(request: LendingGroupRequest, before: StoredGroup | null): Promise<void> {
    const errors: FieldError[] = [];
    const { servers } = this.infrastructure.current.infrastructure;
    const names = request.accelerators.map(acceleratorName);
    const earlier = new Set(before?.accelerators.map(acceleratorName));
    request.accelerators.forEach((accelerator, n) => {
      const at = `/accelerators/${n}`;
      const name = acceleratorName(accelerator);
      if (names.indexOf(name) !== n) errors.push({ pointer: at, detail: 'is named twice', code: 'duplicate' });
      if (earlier.has(name)) return;
      if (accelerator.kind === 'slot') errors.push(...this.boards.errorsOf(accelerator, at));
      else if (!servers.some(({ id }) => id === accelerator.server))
        errors.push({
          pointer: `${at}/server`,
          detail: `there is no server ${accelerator.server}`,
          code: 'unknown-server',
        });
    });
    const lendsSlots = request.accelerators.some(({ kind }) => kind === 'slot');
    const known = new Set([...(before?.chains ?? []), ...(before?.nfs ?? []).map(({ chain_id }) => chain_id)]);
    for (const [n, id] of request.chains.entries())
      if (!known.has(id) && !(await this.find(id))) errors.push(unknownChain(`/chains/${n}`, id));
    for (const [n, nf] of request.nfs.entries())
      if (!before?.nfs.some((it) => it.chain_id === nf.chain_id && it.node_id === nf.node_id))
        errors.push(...(await this.faultsOf(nf, `/nfs/${n}`, lendsSlots)));
    if (errors.length > 0) throw invalid(errors);
  }

  /** An NF may be of the draft, or of what runs. */
  private async faultsOf({ chain_id, node_id }: NfRef, at: string, lendsSlots: boolean): Promise<FieldError[]> {
    const chain = await this.find(chain_id);
    if (!chain) return [unknownChain(`${at}/chain_id`, chain_id)];
    const drafted = chain.draft.nodes.flatMap((node) => (node.kind === 'nf' && node.id === node_id ? [node.nf] : []));
    const running = nfInstances(this.view.plan?.graph)
      .filter((it) => it.chain_id === chain_id && it.node_id === node_id)
      .map(({ nf }) => nf);
    const kinds = [...drafted, ...running];
    const pointer = `${at}/node_id`;
    if (kinds.length === 0) return [{ pointer, detail: `${chain_id} has no NF ${node_id}`, code: 'unknown-nf' }];
    const descriptors = kinds.flatMap((nf) => this.descriptors.find(nf) ?? []);
    const isForBoards = descriptors.some((it) => it.implementations.some(({ kind }) => kind === 'board'));
    if (descriptors.some(({ acceleration }) => acceleration) || (lendsSlots && isForBoards)) return [];
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
