import { MultiSelect } from '@mantine/core';
import { EVENTS, EventType, WebhookRequest } from '@orrery/contract';
import type { FormField } from '../../shared/form/field-model.js';
import type { Values } from '../../shared/form/field-values.js';
import { inputProps, type WidgetProps } from '../../shared/form/widget.js';
import { wordedFields } from '../../shared/form/worded-fields.js';

export const SEVERITY_WORDS = {
  info: 'every event',
  warning: 'warnings and errors',
  error: 'errors',
} as const satisfies Record<WebhookRequest['least_severity'], string>;

/** Labels of the fields; limits and defaults come from the contract. */
const TEXTS: Readonly<Record<string, Partial<FormField>>> = {
  title: { title: 'Name', description: '' },
  url: {
    title: 'Address',
    description: 'Gets each event as a POST. Redirects are not followed.',
    multiline: false,
    placeholder: 'https://',
  },
  least_severity: {
    title: 'Send',
    description: 'Where no types are chosen.',
    options: Object.entries(SEVERITY_WORDS).map(([value, title]) => ({ value, title })),
  } as Partial<FormField>,
  types: { title: 'Only of these types', description: 'These are sent whatever their severity.' },
  enabled: { title: 'Enabled', description: 'Events of the time in which it is disabled are never sent.' },
};

const FIELDS: readonly FormField[] = wordedFields(WebhookRequest, TEXTS);
export const webhookFields = () => FIELDS;

export const NEW_WEBHOOK: Values = { least_severity: 'warning', types: [], enabled: true };

const TYPES = EventType.options
  .map((value) => ({ value, label: `${EVENTS[value].title} (${value})` }))
  .sort((a, b) => (a.label < b.label ? -1 : 1));

function TypesWidget(props: WidgetProps<FormField>) {
  const value = (props.value as string[] | undefined) ?? [];
  return (
    <MultiSelect
      {...inputProps(props)}
      searchable
      clearable
      limit={50}
      nothingFoundMessage="No such type"
      placeholder={value.length === 0 ? 'All types' : undefined}
      data={TYPES}
      value={value}
      onChange={props.onChange}
    />
  );
}

export const WIDGETS = { '/types': TypesWidget };
