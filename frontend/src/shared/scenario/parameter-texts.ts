import type { Scenario, ScenarioParameters } from '@orrery/contract';
import { type FormField, formFields, titleOf, withUnit } from '../form/field-model.js';

/** Title and value of each parameter of a run, as the form of its scenario has them; without the scenario, by their names. */
export function parameterTexts(scenario: Scenario | undefined, values: ScenarioParameters): [string, string][] {
  const fields = scenario ? formFields(scenario.parameters) : [];
  return Object.entries(values).map(([key, value]) => {
    const field = fields.find((each) => each.key === key);
    return [field?.title ?? titleOf(key), valueText(field, value)];
  });
}

function valueText(field: FormField | undefined, value: ScenarioParameters[string]): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (field?.kind === 'number' && typeof value === 'number') return withUnit(field, value);
  const option = field?.kind === 'choice' ? field.options.find((each) => each.value === value) : undefined;
  return option?.title ?? String(value);
}
