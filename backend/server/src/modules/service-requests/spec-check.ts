import { Inject, Injectable } from '@nestjs/common';
import type { FieldError, ServiceRequestSpec } from '@orrery/contract';
import { canMatch, faultOf } from '@orrery/planner';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { Pools } from './pools.js';

const NO_VALUES = () => null;

/** Which fields of a request speak against it before any way is looked for. */
@Injectable()
export class SpecCheck {
  constructor(
    @Inject(Pools) private readonly pools: Pools,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
  ) {}

  /** `at`: pointer to the request. */
  errorsOf(spec: ServiceRequestSpec, at: string): FieldError[] {
    const pool = this.pools.find(spec.pool);
    if (!pool || pool.removing)
      return [{ pointer: `${at}/pool`, detail: `there is no pool "${spec.pool}"`, code: 'unknown-pool' }];
    if (pool.given_up)
      return [{ pointer: `${at}/pool`, detail: 'was given up and is not deployed again', code: 'unknown-pool' }];
    const { definition } = pool;
    const errors: FieldError[] = [];
    const refuse = (pointer: string, detail: string, code: string) =>
      errors.push({ pointer: `${at}/${pointer}`, detail, code });
    const { hosts } = this.infrastructure.current.infrastructure;
    spec.from.forEach((host, i) => {
      if (!definition.hosts.includes(host) || !hosts.some(({ id }) => id === host))
        refuse(`from/${i}`, `${host} is not a host of the pool`, 'unknown-host');
      else if (spec.from.indexOf(host) < i) refuse(`from/${i}`, `${host} is named twice`, 'duplicate-id');
    });
    spec.match.forEach((term, i) => {
      const fault = faultOf(term, NO_VALUES);
      if (fault) refuse(`match/${i}/${fault.field}`, fault.message, fault.code);
    });
    if (errors.length === 0 && !canMatch(spec.match)) refuse('match', 'no packet can match every term', 'bad-filter');
    const order = definition.nfs.map(({ nf }) => nf);
    spec.functions.forEach((nf, i) => {
      const place = order.indexOf(nf);
      if (place < 0) refuse(`functions/${i}`, `the pool has no ${nf}`, 'unknown-nf');
      else if (i > 0 && place <= order.indexOf(spec.functions[i - 1]!))
        refuse(`functions/${i}`, `does not come after ${spec.functions[i - 1]} in the pool`, 'order');
    });
    return errors;
  }
}
