import { cryptoTunnel } from './crypto-tunnel.js';
import { ddosDetector } from './ddos-detector.js';
import { elephantDetector } from './elephant-detector.js';
import type { ModuleAdapter } from './module-adapter.js';
import { nat } from './nat.js';
import { sqliDetector } from './sqli-detector.js';
import { statefulFirewall } from './stateful-firewall.js';

/** NFs that boards can run, one line each. */
export const ADAPTERS: readonly ModuleAdapter[] = [
  cryptoTunnel,
  ddosDetector,
  elephantDetector,
  nat,
  sqliDetector,
  statefulFirewall,
];
