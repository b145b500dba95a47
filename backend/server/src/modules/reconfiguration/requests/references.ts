import { Inject, Injectable } from '@nestjs/common';
import { type FieldError, type NfRef, nfInstances, type ReconfigurationRequest } from '@orrery/contract';
import { invalid } from '../../../platform/problem.js';
import { BOARDS, type BoardView } from '../../../ports/board-view.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../../ports/deployment-view.js';
import { DESCRIPTORS, type NfDescriptors } from '../../../ports/descriptor-catalogue.js';
import { instancesOf, sameNf } from '../places.js';

type Named = Pick<ReconfigurationRequest, 'nf' | 'slot' | 'displaces'>;

/** Checks the references of a request against the deployment and the boards. */
@Injectable()
export class References {
  constructor(
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(BOARDS) private readonly boards: BoardView,
    @Inject(DESCRIPTORS) private readonly catalogue: NfDescriptors,
  ) {}

  /**
   * Throws 422 that names each invalid field. `known` NFs were checked before and may have disappeared since; `at` is where the
   * request has its NF.
   */
  require(
    { nf, slot, displaces }: Named,
    to: ReconfigurationRequest['to'],
    known: readonly NfRef[] = [],
    at = '/nf',
  ): void {
    const isNew = (each: NfRef) => !known.some((it) => sameNf(it, each));
    const errors = [
      ...(isNew(nf) ? this.errorsOf(nf, at) : []),
      ...(isNew(nf) && to === 'board' ? this.errorsOfForm(nf, at) : []),
      ...displaces.flatMap((each, i) => (isNew(each) ? this.errorsOf(each, `/displaces/${i}`) : [])),
      ...(slot ? this.boards.errorsOf(slot, '/slot') : []),
    ];
    if (errors.length > 0) throw invalid(errors);
  }

  /** NFs of the plan to come that boards can run, each once. */
  boardNfs(): NfRef[] {
    const nfs = new Map<string, NfRef>();
    for (const { chain_id, node_id } of nfInstances(this.view.comingPlan?.graph))
      nfs.set(`${chain_id} ${node_id}`, { chain_id, node_id });
    return [...nfs.values()].filter((nf) => this.errorsOfForm(nf, '').length === 0);
  }

  private errorsOf(nf: NfRef, pointer: string): FieldError[] {
    const plan = this.view.comingPlan;
    const chain = plan?.chains.find(({ chain_id }) => chain_id === nf.chain_id);
    if (!chain)
      return [{ pointer: `${pointer}/chain_id`, detail: `${nf.chain_id} is not deployed`, code: 'not-deployed' }];
    if (instancesOf(plan, nf).length > 0) return [];
    const detail = `the deployed version of ${chain.definition.name} has no NF ${nf.node_id}`;
    return [{ pointer: `${pointer}/node_id`, detail, code: 'unknown-nf' }];
  }

  private errorsOfForm(nf: NfRef, at: string): FieldError[] {
    const name = instancesOf(this.view.comingPlan, nf)[0]?.nf;
    const descriptor = name === undefined ? undefined : this.catalogue.find(name);
    if (!descriptor || descriptor.implementations.some(({ kind }) => kind === 'board')) return [];
    return [
      { pointer: `${at}/node_id`, detail: `${name} has no implementation for boards`, code: 'no-board-implementation' },
    ];
  }
}
