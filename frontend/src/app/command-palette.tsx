import { createSpotlight, Spotlight } from '@mantine/spotlight';
import '@mantine/spotlight/styles.css';
import { IconSearch } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import { useChains } from '../shared/api/queries.js';
import { useCommandList } from '../shared/ui/commands.js';
import { Keys } from '../shared/ui/keys.js';
import classes from './command-palette.module.css';

const [store, palette] = createSpotlight();

interface Item {
  readonly id: string;
  readonly title: string;
  readonly group: string;
  readonly keys?: string;
  readonly words?: readonly string[];
  readonly run: () => void;
}

/** Opens for each request; `request` counts them. */
export default function CommandPalette({ request }: { readonly request: number }) {
  const [query, setQuery] = useState('');
  const commands = useCommandList();
  const chains = useChains();
  const navigate = useNavigate();
  useEffect(() => {
    if (request > 0) palette.open();
  }, [request]);

  const items: Item[] = [
    ...commands.filter(({ hidden }) => !hidden),
    ...(chains.data ?? []).map(({ id, draft }) => ({
      id: `chain.${id}`,
      title: `Open chain ${draft.title}`,
      group: 'Chains',
      run: () => void navigate(`/chains/${encodeURIComponent(id)}`),
    })),
  ];
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const hasAll = (texts: readonly string[]) => {
    const text = texts.join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const matching = items.filter(({ title, group, words: more = [] }) => hasAll([group, title, ...more]));
  const [inTitle, elsewhere] = [true, false].map((of) => matching.filter(({ title }) => hasAll([title]) === of));
  const found = [...inTitle!, ...elsewhere!];
  const groups = [...new Set(found.map(({ group }) => group))];

  return (
    <Spotlight.Root
      store={store}
      query={query}
      onQueryChange={setQuery}
      shortcut={null}
      scrollable
      maxHeight={420}
      transitionProps={{ duration: 80 }}
      overlayProps={{ blur: 0, backgroundOpacity: 0.35 }}
      classNames={{ action: classes.action }}
      attributes={{ content: { 'aria-label': 'Search' } }}
    >
      <Spotlight.Search
        placeholder="Search pages, chains and commands"
        aria-label="Search pages, chains and commands"
        leftSection={<IconSearch size={16} />}
      />
      <Spotlight.ActionsList>
        {found.length === 0 && <Spotlight.Empty>Nothing matches “{query}”</Spotlight.Empty>}
        {groups.map((group) => (
          <Spotlight.ActionsGroup key={group} label={group}>
            {found
              .filter((item) => item.group === group)
              .map(({ id, title, keys, run }) => (
                <Spotlight.Action key={id} label={title} onClick={run} rightSection={keys && <Keys keys={keys} />} />
              ))}
          </Spotlight.ActionsGroup>
        ))}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  );
}
