import { stemOf } from '../veth-names.js';

/** Names of the two containers of an instance. */
export interface ContainerNames {
  nf: string;
  /** That which holds the network namespace. */
  holder: string;
}

/** Several nodes may share one Docker, and an instance may move from one to another. */
export function containerNames(node: string, instanceId: string): ContainerNames {
  const nf = `orrery-${node}-${stemOf(instanceId)}`;
  return { nf, holder: `${nf}-net` };
}
