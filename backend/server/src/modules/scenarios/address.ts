import type { Api } from './api-caller.js';

export async function ipv4Of(api: Api, host: string): Promise<string | undefined> {
  const { hosts } = await api.call('getInfrastructure');
  return hosts.find(({ id }) => id === host)?.addresses.find(({ address }) => !address.includes(':'))?.address;
}

/** Errors: the host has none. */
export async function requireIpv4(api: Api, host: string): Promise<string> {
  const address = await ipv4Of(api, host);
  if (!address) throw new Error(`${host} has no IPv4 address`);
  return address;
}
