/** Keys of what the NFs of a chain share. All of a chain have its hash tag, so a cluster keeps them together. */
export function stateKeys(chainId: string) {
  const chain = `state:{${chainId}}:`;
  return {
    value: (namespace: string, key: Buffer) => Buffer.concat([Buffer.from(`${chain}v:${namespace}:`), key]),
    lease: (name: string) => `${chain}lease:${name}`,
    pool: (name: string) => `${chain}nat:${name}`,
    counters: (namespace: string) => `${chain}c:${namespace}`,
    observations: (namespace: string) => `${chain}o:${namespace}`,
    triggers: `${chain}triggers`,
    version: `${chain}version`,
    alarms: `${chain}alarms`,
  };
}
