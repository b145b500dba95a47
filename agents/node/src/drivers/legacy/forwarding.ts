import type { Forwarding } from '@orrery/contract';
import { PORTS_HOP } from '../nf-driver.js';
import { feedNamespace, inNamespace } from './namespace-commands.js';

const BRIDGE = 'bridge';
/** Where the kernel sends what it routes. Nobody has the address: a fixed neighbour entry stands for the engine. */
const ENGINE_ADDRESS = '169.254.169.1';
/** Metadata 0: not set. The source address is the interface's own, so the ingress time starts anew. */
const ENGINE_MAC = `02:0e:${(PORTS_HOP >> 8).toString(16)}:${(PORTS_HOP & 0xff).toString(16)}:00:00`;
/** Routes of what came in at `far`. */
const BACK_TABLE = '100';

/**
 * Lets the kernel of a network namespace forward between `near` and `far`. Repeating it is harmless; with `route`, it
 * is needed again after a change of the namespace's nftables rules.
 */
export async function forward(mode: Forwarding, pid: number): Promise<void> {
  if (mode === 'bridge' || mode === 'tap') await bridge(pid);
  if (mode === 'route') await route(pid);
}

/**
 * A bridge that learns nothing: source addresses are times, a different one in each packet, and destinations tags that
 * no port has. It sends to the other port what it receives on one.
 */
async function bridge(pid: number): Promise<void> {
  const ip = (...words: string[]) => inNamespace(pid, 'ip', ...words);
  await ip('link', 'show', 'dev', BRIDGE).catch(() => ip('link', 'add', 'name', BRIDGE, 'type', 'bridge'));
  await ip('link', 'set', 'dev', BRIDGE, 'type', 'bridge', 'mcast_snooping', '0', 'stp_state', '0');
  for (const port of ['near', 'far']) {
    await ip('link', 'set', 'dev', port, 'master', BRIDGE);
    await ip('link', 'set', 'dev', port, 'type', 'bridge_slave', 'learning', 'off');
  }
  await ip('link', 'set', 'dev', BRIDGE, 'addrgenmode', 'none', 'arp', 'off', 'up');
}

/**
 * IPv4 from each interface to the other. Frames are for the kernel whatever their destination address says: it is a
 * tag. What leaves is addressed to the engine.
 */
async function route(pid: number): Promise<void> {
  const settings = {
    'net.ipv4.ip_forward': 1,
    'net.ipv4.conf.all.rp_filter': 0,
    'net.ipv4.conf.default.rp_filter': 0,
    'net.ipv4.conf.near.rp_filter': 0,
    'net.ipv4.conf.far.rp_filter': 0,
    'net.ipv4.conf.all.send_redirects': 0,
    'net.ipv4.conf.near.send_redirects': 0,
    'net.ipv4.conf.far.send_redirects': 0,
  };
  await inNamespace(pid, 'sysctl', '-q', '-w', ...Object.entries(settings).map(([name, value]) => `${name}=${value}`));
  const ip = (...words: string[]) => inNamespace(pid, 'ip', '-4', ...words);
  await ip('link', 'set', 'dev', 'lo', 'up');
  for (const port of ['near', 'far']) {
    await ip('link', 'set', 'dev', port, 'up');
    await ip('neigh', 'replace', ENGINE_ADDRESS, 'lladdr', ENGINE_MAC, 'dev', port, 'nud', 'permanent');
  }
  await ip('route', 'replace', 'default', 'via', ENGINE_ADDRESS, 'dev', 'far', 'onlink');
  await ip('route', 'replace', 'default', 'via', ENGINE_ADDRESS, 'dev', 'near', 'onlink', 'table', BACK_TABLE);
  const back = ['rule', 'add', 'pref', BACK_TABLE, 'iif', 'far', 'lookup', BACK_TABLE];
  await ip('rule', 'del', 'pref', BACK_TABLE).catch(() => undefined);
  await ip(...back);
  await feedNamespace(pid, ACCEPT_TAGS, 'nft', '-f', '-');
}

/** One transaction, also where the table is there. */
const ACCEPT_TAGS = `table netdev orrery
delete table netdev orrery
table netdev orrery {
  chain tags {
    type filter hook ingress devices = { near, far } priority -500; policy accept;
    meta pkttype set host
  }
}
`;
