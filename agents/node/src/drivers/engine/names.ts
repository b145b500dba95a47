/**
 * Names of the engine's modules. They depend only on the desired state, so that a later apply finds the module of an
 * instance again and keeps its state and counters.
 */
export const NIC_PORT = 'nic0';
export const NIC_IN = 'nic0:in';
export const NIC_HOPS = 'nic0:hops';
export const NIC_OUT = 'nic0:out';

export const queueOf = (instance: string) => `${instance}:queue`;
export const returnQueueOf = (instance: string) => `${instance}:return-queue`;
/** Before an input of a mirror or merge that another worker fills. */
export const branchQueueOf = (module: string, input: number) => `${module}:queue:${input}`;
export const bytestreamOf = (instance: string) => `${instance}:bytestream`;
export const outputsOf = (instance: string) => `${instance}:outputs`;
export const splitOf = (instance: string, output: number) => `${instance}:split:${output}`;
export const hopModule = (hop: number) => `hop:${hop}`;
export const exitModule = (exit: string) => `exit:${exit}`;

/** Where packets enter and leave an NF behind ports. Also the names of its ports. */
export const nearOf = (instance: string) => `${instance}:near`;
export const farOf = (instance: string) => `${instance}:far`;
