import type { NfDescriptor } from '@orrery/contract';
import { type FormField, formFields } from '../../../shared/form/field-model.js';
import { type Values, withoutDefaults } from '../../../shared/form/field-values.js';

/** Of an NF with return traffic the planner chooses a free one for each instance where the chain names none; defaults are not used. */
const CHOSEN = 'external_addresses';

type Described = Pick<NfDescriptor, 'config_schema' | 'default_config' | 'return_traffic'>;

/** The fields of the configuration of an NF. */
export function configFields({ config_schema, return_traffic }: Described): FormField[] {
  return formFields(config_schema).map((field) =>
    return_traffic && field.key === CHOSEN && field.kind === 'list'
      ? { ...field, required: false, unset: 'Not set: the planner chooses a free address for each instance.' }
      : field,
  );
}

/** What is shown of a configuration: defaults where the chain says nothing, but none that is not used. */
export function shownConfig(descriptor: Described, config: Values): Values {
  return { ...usedDefaults(descriptor), ...config };
}

/** What is stored of what is shown. */
export function storedConfig(descriptor: Described, shown: Values): Record<string, unknown> {
  return withoutDefaults(shown, usedDefaults(descriptor));
}

function usedDefaults({ default_config, return_traffic }: Described): Record<string, unknown> {
  const { [CHOSEN]: chosen, ...defaults } = default_config;
  return return_traffic || chosen === undefined ? defaults : default_config;
}
