import type { DriverChange, DriverChoice, FieldError, Infrastructure, SwitchAbilities } from '@orrery/contract';
import { withDrivers } from '@orrery/contract';
import { invalid } from '../../platform/problem.js';
import type { InfrastructureStore } from '../../ports/infrastructure-store.js';
import { abilitiesOf, type SwitchFleet } from '../../ports/switch-fleet.js';

type Abilities = ReadonlyMap<string, SwitchAbilities>;

/** The part of a plan's input that the drivers of switches decide. */
export interface PlannedDrivers {
  readonly infrastructure: Infrastructure;
  readonly switches: Abilities;
  /** Absent: no driver changes. */
  readonly drivers?: readonly DriverChange[];
  readonly switches_before?: Abilities;
}

/**
 * The infrastructure with the drivers that are asked for, on top of those that accepted operations bring. Throws 422 for a switch
 * that cannot change, for a driver that cannot run or of which it is not known what it can do, and for whatever else would keep the
 * infrastructure from being stored when the plan is carried out.
 */
export async function plannedDrivers(
  asked: readonly DriverChoice[],
  coming: readonly DriverChange[],
  store: InfrastructureStore,
  fleet: SwitchFleet,
): Promise<PlannedDrivers> {
  const { current } = store;
  const before = coming.length > 0 ? withDrivers(current.infrastructure, coming) : current.infrastructure;
  const abilities = (of: Infrastructure): Abilities =>
    new Map(
      of.switches.flatMap((node) => {
        const known = abilitiesOf(fleet, node);
        return known ? [[node.id, known] as const] : [];
      }),
    );
  const errors = asked.flatMap((choice, i) => errorsOf(choice, i, asked, before, fleet));
  if (errors.length > 0) throw invalid(errors);
  const drivers = asked.flatMap((choice): DriverChange[] => {
    const { driver: from } = before.switches.find(({ id }) => id === choice.switch)!;
    return from === choice.driver ? [] : [{ switch: choice.switch, from, to: choice.driver }];
  });
  if (drivers.length === 0) return { infrastructure: before, switches: abilities(before) };
  const infrastructure = withDrivers(before, drivers);
  const refusals = (await store.errorsOf(infrastructure)).map((error) => atChoice(error, infrastructure, asked));
  if (refusals.length > 0) throw invalid(refusals);
  return { infrastructure, drivers, switches: abilities(infrastructure), switches_before: abilities(before) };
}

function errorsOf(
  choice: DriverChoice,
  index: number,
  asked: readonly DriverChoice[],
  { switches }: Infrastructure,
  fleet: SwitchFleet,
): FieldError[] {
  const at = `/switch_drivers/${index}`;
  const { driver } = choice;
  const node = switches.find(({ id }) => id === choice.switch);
  if (!node) return [{ pointer: `${at}/switch`, detail: `there is no switch ${choice.switch}`, code: 'unknown-node' }];
  const { id, origin } = node;
  if (asked.findIndex((other) => other.switch === id) < index)
    return [{ pointer: `${at}/switch`, detail: `${id} is named twice`, code: 'duplicate-id' }];
  if (driver === node.driver) return [];
  if (origin === 'live') {
    const detail = `${id} is a live switch: it runs the driver that its agent is started with`;
    return [{ pointer: `${at}/driver`, detail, code: 'live-switch' }];
  }
  if (fleet.switchAbilitiesBy(id, driver)) return [];
  const why = fleet.switchDescription(id) ? 'its agent has not told of it' : 'its agent has never connected';
  const detail = `what ${id} can do with the driver ${driver} is not known: ${why}`;
  return [{ pointer: `${at}/driver`, detail, code: 'unknown-driver' }];
}

/** An error of the infrastructure that the drivers would make, at the choice that it is of, where it is of one. */
function atChoice(error: FieldError, { switches }: Infrastructure, asked: readonly DriverChoice[]): FieldError {
  const [, place] = /^\/switches\/(\d+)\//.exec(error.pointer) ?? [];
  const id = place === undefined ? undefined : switches[Number(place)]?.id;
  const index = asked.findIndex((choice) => choice.switch === id);
  return { ...error, pointer: index < 0 ? '/switch_drivers' : `/switch_drivers/${index}/driver` };
}
