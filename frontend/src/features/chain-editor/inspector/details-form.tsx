import { Textarea } from '@mantine/core';
import { type ChainDefinition, Name } from '@orrery/contract';
import { setDetails } from '../../../editor-model/edit.js';
import { useEditorContext } from '../../../shared/chain-draft/context.js';
import { TextEntry } from '../../../shared/form/text-entry.js';
import { Section } from './section.js';

/** Name, title and description of the chain. */
export function DetailsForm({ definition }: { readonly definition: ChainDefinition }) {
  const { store, chain, readOnly } = useEditorContext();
  const deployed = chain.deployed_version !== null;
  return (
    <Section title="Details">
      <TextEntry
        label="Title"
        value={definition.title}
        maxLength={80}
        disabled={readOnly}
        problemOf={(title) => (title.trim() ? null : 'A chain needs a title')}
        live
        onCommit={(title) => store.apply((before) => setDetails(before, { title }), 'title')}
      />
      <TextEntry
        label="Name"
        description={deployed ? 'A new name starts new instances at the next deployment.' : 'Unique in the project.'}
        value={definition.name}
        disabled={readOnly}
        problemOf={(name) => Name.safeParse(name).error?.issues[0]?.message ?? null}
        onCommit={(name) => store.apply((before) => setDetails(before, { name }))}
      />
      <Textarea
        label="Description"
        autosize
        minRows={2}
        maxRows={6}
        maxLength={2000}
        value={definition.description}
        disabled={readOnly}
        onChange={(event) => {
          const description = event.currentTarget.value;
          store.apply((before) => setDetails(before, { description }), 'description');
        }}
      />
    </Section>
  );
}
