/**
 * All that the package offers; its files import each other directly. Without side effects, so a bundle takes only what it
 * uses: neither the solver nor the eigenvalues come to the browser with the check.
 */

// Packing of boards (HYPER III, V).
export { certifyPacking } from './accelerator/certify.js';
export { type Fleet, placeOnline, withDemand, withoutDemand } from './accelerator/online.js';
export { DEFAULT_PACK_BUDGET, type Packed, type PackStrategy, packOffline } from './accelerator/pack.js';
export type { AcceleratorProblem } from './accelerator/problem.js';
export { BadProblem } from './bad-problem.js';
export { type Budget, OutOfTime, type TimedBudget, timedBudget } from './budget.js';
// Chaining over instances (HYPER IV-B).
export { type ChainAnswer, type ChainOptions, chain, route } from './chaining/chain.js';
export { type PreparedNetwork, prepareNetwork } from './chaining/network.js';
export type { ChainNetwork, ChainRequest } from './chaining/problem.js';
export { type Arrival, type Served, serveInTurn } from './chaining/serve.js';
export { CHAIN_STRATEGIES } from './chaining/strategies.js';
// Chains as drawn.
export { schemaFindings } from './check/check-config.js';
export { checkTogether } from './check/check-together.js';
export { configuredNf } from './check/configured-nf.js';
export { imageOf, programOf, unmodifiedOf } from './check/implementation.js';
export { allPackets } from './check/packet-space.js';
export { overlap } from './check/reach.js';
export { faultOf, filterBox } from './check/resolve-filter.js';
export { CHECK_STEPS, type ChainContext, validateChain } from './check/validate.js';
export { grouped } from './grouped.js';
export { equalRanges } from './igraph/flow-range.js';
export { drainedRanges, type RangeMove, rangeMoves, scaledRanges } from './igraph/scaled-ranges.js';
export { CORE_BUDGET } from './igraph/sizing.js';
// Accelerators lent in turn (SSM II.B).
export { decideLending, type Handover, type WhyReleased } from './lending/decide.js';
export { type Candidate as LendingCandidate, isEligible, type OfferedBoard } from './lending/eligible.js';
export { jainIndex, switchOverhead } from './lending/figures.js';
export {
  type Accelerator as Lendable,
  type Account as LendingAccount,
  elapse,
  granted,
  type LendingState,
  type Loan,
  NO_LOANS,
  released,
  type Vnf,
} from './lending/state.js';
export { LENDING_STRATEGIES, type LendingSettings, type LendingStrategy } from './lending/strategies.js';
// What switches are given.
export { ASSUMED_ABILITIES } from './lower/switch/abilities.js';
export { availableEntries } from './lower/switch/available-entries.js';
export {
  type AbilitiesOf,
  FabricLowering,
  type HeldRoom,
  heldRoom,
  type LoweredFabric,
  lowerFabric,
  switchesWith,
} from './lower/switch/lower-fabric.js';
export { losesWays } from './lower/switch/own-programs.js';
export { avoiding, switchPlaces } from './lower/switch/topology.js';
export { Memo } from './memo.js';
// Parallel forms (HydraNF 6).
export { buildSpg, type Spg, type SpgStrategy } from './parallel/construction/build.js';
export { certifySpg } from './parallel/construction/certify.js';
export type { SpgProblem } from './parallel/construction/problem.js';
export { dependencies } from './parallel/dependency/dependencies.js';
export { type MergeProblem, placeMirrorAndMerge } from './parallel/merging/place.js';
export { certifyProvisioning } from './parallel/provisioning/certify.js';
export type { ProvisioningProblem } from './parallel/provisioning/problem.js';
export { type Provisioning, type ProvisionStrategy, provision } from './parallel/provisioning/provision.js';
// Placement (E2 3.4.1).
export { type BoundBudget, boundPlacement, type PlacementBound } from './placement/bound.js';
export { type Placement, type PlacementOptions, place } from './placement/place.js';
export { type PlacementProblem, problemOf } from './placement/problem.js';
// Plans, how good they are, and the phases from one to the next.
export { CERTIFY_STEPS, type CertifyInput, certifyPlan } from './plan/certify-plan.js';
export type { PlanInput } from './plan/input.js';
export { makePlan } from './plan/make-plan.js';
export { planRefusal, shortage } from './plan/refusal.js';
export { seededRandom } from './random.js';
// Requests for ways through shared instances (HYPER IV).
export {
  type Accepted,
  Admissions,
  type Decision,
  type Deployed,
  type NumberedWay,
  type Refused,
} from './requests/admit.js';
export { ClassIndex, canMatch, type HeldClass } from './requests/class-index.js';
export { EntryRoom } from './requests/entry-room.js';
export { type LiveInstance, type LiveOption, type LiveState, liveNetwork } from './requests/live-network.js';
export {
  brokenWays,
  edgesLeft,
  firstInstances,
  type HeldRequest,
  poolChain,
  wayEdge,
  waysOf,
} from './requests/pool-chain.js';
export { type PlacedPoolInstance, poolState } from './requests/pool-state.js';
export { wayLatencies } from './requests/way-latency.js';
// Scaling (E2 3.4.3).
export {
  decideScaling,
  type InstanceLoad,
  type NfLoad,
  NO_SCALING_MEMORY,
  type ScalingDecision,
  type ScalingMemory,
  whyNotJudged,
} from './scaling/scaling.js';
export { flawOfSteps, leavesSwitches, numbersOf, stagedBy, whyNotInSteps } from './scaling/split-steps.js';
// Schedules (Alpine 5).
export { certifySchedule } from './schedule/certify.js';
export { compareSchedules, planSchedule } from './schedule/plan-schedule.js';
export type { Mode, Schedule, ScheduleOptions, ScheduleProblem, StrategyName } from './schedule/problem.js';
// Predicted latency and throughput.
export type { MeasuredLatency, MeasuredOverhead } from './slo/calibrate.js';
export { NOT_CALIBRATED } from './slo/overhead.js';
export type { PlacedInput } from './slo/placed.js';
export { predictSlos } from './slo/predict.js';
export { overheadMeasured, predictRunning, type RunningPlan } from './slo/running.js';
// Slots of boards at switches.
export { linkedSlots } from './slot-links.js';
export { solveWithHighs } from './solver/highs.js';
export type { Limits, LinearModel, Solution, Solver } from './solver/linear-model.js';
export { fabricIn, isEmptyNode, isFabricPhase, nodesIn, PHASES, type Phase, stepKindsOf } from './transition/phases.js';
export { sameContent } from './transition/same-spec.js';
// Upkeep of placements.
export type { Move } from './upkeep/better-places.js';
export type { WayBound } from './upkeep/bounded-ways.js';
export {
  type BetterPlan,
  compareWithBest,
  type Moved,
  movedBy,
  type UpkeepComparison,
  type UpkeepInput,
} from './upkeep/compare.js';
export {
  decideUpkeep,
  gainOf,
  NO_UPKEEP_MEMORY,
  type UpkeepDecision,
  type UpkeepGain,
  type UpkeepMemory,
  type UpkeepRules,
} from './upkeep/decide.js';
export { driftsOf, hasDrifted, type NfDrift } from './upkeep/drift.js';
export type { PlacementFigures } from './upkeep/figures.js';
export { costFactor, learntFrom, timesFactor } from './upkeep/learn.js';
export type { MeasuredLoad } from './upkeep/measured-graph.js';
