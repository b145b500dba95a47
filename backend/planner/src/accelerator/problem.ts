import { BadProblem, requireAtLeast, requireAtMost, requireIndex } from '../bad-problem.js';

/** Most demands, device types and dimensions that a packing is sought for. */
const MAX_DEMANDS = 5000;
const MAX_TYPES = 64;
const MAX_DIMENSIONS = 8;

/** A resource that devices have and demands use up: TCAM, LUTs, block RAM, processor cycles. */
export interface Dimension {
  readonly name: string;
  readonly unit: string;
}

/** Devices that are alike (HYPER Table I: lambda, epsilon, zeta, eta, c). */
export interface DeviceType {
  readonly id: string;
  /** Power, purchase and operation in one figure, above 0. */
  readonly cost: number;
  /** Number of devices of the type. */
  readonly count: number;
  readonly latency_us: number;
  readonly throughput_bps: number;
  /** By dimension. */
  readonly capacity: readonly number[];
  /** Functions that the devices can carry, by index. */
  readonly functions: readonly number[];
}

/** An NF instance to place (HYPER Table I: alpha, beta, gamma). */
export interface Demand {
  readonly id: string;
  readonly function: number;
  /** By dimension. */
  readonly need: readonly number[];
  readonly throughput_bps: number;
  /** Maximum latency of the device. */
  readonly latency_us: number;
}

export interface AcceleratorProblem {
  readonly functions: readonly string[];
  readonly dimensions: readonly Dimension[];
  readonly types: readonly DeviceType[];
  readonly demands: readonly Demand[];
}

/** A device in use with the demands on it, by index. */
export interface OpenDevice {
  readonly type: number;
  readonly demands: readonly number[];
}

/** What could not be met: figures, unit and place. */
export interface Shortage {
  readonly constraint: string;
  readonly needed: number;
  readonly available: number;
  readonly unit: string;
  readonly where: string;
}

/** Errors: `BadProblem` for an invalid problem. */
export function checkProblem({ functions, dimensions, types, demands }: AcceleratorProblem): void {
  requireAtMost('/dimensions', dimensions.length, MAX_DIMENSIONS);
  requireAtMost('/types', types.length, MAX_TYPES);
  requireAtMost('/demands', demands.length, MAX_DEMANDS);
  const d = dimensions.length;
  types.forEach((type, t) => {
    checkType(`/types/${t}`, type, d, functions.length);
  });
  demands.forEach((demand, i) => {
    checkDemand(`/demands/${i}`, demand, d, functions.length);
  });
}

function checkType(at: string, type: DeviceType, dimensions: number, functions: number): void {
  requireAtLeast(`${at}/cost`, type.cost, 0, true);
  requireAtLeast(`${at}/count`, type.count, 0);
  if (!Number.isInteger(type.count)) throw new BadProblem(`${at}/count`, 'must be a whole number');
  requireAtLeast(`${at}/latency_us`, type.latency_us, 0);
  requireAtLeast(`${at}/throughput_bps`, type.throughput_bps, 0, true);
  checkVector(`${at}/capacity`, type.capacity, dimensions, true);
  type.functions.forEach((f, k) => {
    requireIndex(`${at}/functions/${k}`, f, functions);
  });
}

function checkDemand(at: string, demand: Demand, dimensions: number, functions: number): void {
  requireIndex(`${at}/function`, demand.function, functions);
  checkVector(`${at}/need`, demand.need, dimensions, false);
  requireAtLeast(`${at}/throughput_bps`, demand.throughput_bps, 0);
  requireAtLeast(`${at}/latency_us`, demand.latency_us, 0);
}

function checkVector(field: string, values: readonly number[], length: number, exclusive: boolean): void {
  if (values.length !== length) throw new BadProblem(field, `must have ${length} entries, not ${values.length}`);
  values.forEach((value, k) => {
    requireAtLeast(`${field}/${k}`, value, 0, exclusive);
  });
}
