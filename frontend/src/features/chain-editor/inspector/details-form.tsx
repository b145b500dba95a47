import { ChainDefinition, Name } from '@orrery/contract';
import { setDetails } from '../../../editor-model/edit.js';
import { useDerived, useEditorContext } from '../../../shared/chain-draft/context.js';
import type { FormField } from '../../../shared/form/field-model.js';
import { SchemaFields } from '../../../shared/form/schema-fields.js';
import { TextEntry } from '../../../shared/form/text-entry.js';
import { inputProps, pointerOf, type WidgetProps } from '../../../shared/form/widget.js';
import { wordedFields } from '../../../shared/form/worded-fields.js';
import { Section } from './section.js';

const NOT_BLANK = '\\S';

const fieldsOf = (deployed: boolean) =>
  wordedFields(ChainDefinition, {
    title: { title: 'Title', pattern: NOT_BLANK },
    name: {
      title: 'Name',
      description: deployed ? 'A new name starts new instances at the next deployment.' : 'Unique in the project.',
    },
    description: { title: 'Description', multiline: true },
  });
const FIELDS = { deployed: fieldsOf(true), other: fieldsOf(false) };

/** The name changes on blur or Enter, because it must be unique and instances are called after it. */
function NameWidget(props: WidgetProps<FormField>) {
  return (
    <TextEntry
      {...inputProps(props)}
      value={String(props.value)}
      problemOf={(name) => Name.safeParse(name).error?.issues[0]?.message ?? null}
      onCommit={props.onChange}
    />
  );
}

/** Name, title and description of the chain. */
export function DetailsForm({ definition }: { readonly definition: ChainDefinition }) {
  const { store, chain, readOnly } = useEditorContext();
  const problems = useDerived((derived) => derived.problems);
  return (
    <Section title="Details">
      <SchemaFields
        fields={chain.deployed_version === null ? FIELDS.other : FIELDS.deployed}
        values={definition}
        path={[]}
        form={{
          readOnly,
          strict: true,
          widgets: { '/name': NameWidget },
          problemAt: (path) => problems.all.find(({ pointer }) => pointer === pointerOf(path))?.message ?? null,
          onChange: ([field], next) => {
            const key = String(field);
            const details = { [key]: next[key] ?? '' };
            store.apply((before) => setDetails(before, details), key === 'name' ? undefined : key);
          },
        }}
      />
    </Section>
  );
}
