import { useMantineColorScheme } from '@mantine/core';
import { useNavigate } from 'react-router';
import { type Command, useCommands } from '../shared/ui/commands.js';
import { API_REFERENCE, useOfferedPages } from './pages.js';
import { SCHEMES } from './theme-switch.js';
import { leave } from './user-menu.js';

interface ShellCommands {
  readonly openPalette: () => void;
  readonly openHelp: () => void;
  readonly toggleNavigation: () => void;
}

/** Commands that are available on every page. */
export function useShellCommands({ openPalette, openHelp, toggleNavigation }: ShellCommands): void {
  const navigate = useNavigate();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const pages = useOfferedPages();
  const next = SCHEMES[(SCHEMES.findIndex(({ value }) => value === colorScheme) + 1) % SCHEMES.length]!;
  const commands: Command[] = [
    ...pages.map(({ path, title, navigation: { letter, words } }) => ({
      id: `go.${title.toLowerCase().replaceAll(' ', '-')}`,
      title: `Go to ${title}`,
      group: 'Pages',
      keys: `g ${letter}`,
      words,
      run: () => void navigate(path),
    })),
    {
      id: 'go.api-reference',
      title: `Open the ${API_REFERENCE.title}`,
      group: 'Pages',
      run: () => void window.open(API_REFERENCE.path, '_blank', 'noreferrer'),
    },
    {
      id: 'palette.open',
      title: 'Search commands',
      group: 'Console',
      keys: 'mod+k',
      inFields: true,
      hidden: true,
      run: openPalette,
    },
    {
      id: 'navigation.toggle',
      title: 'Collapse or expand the navigation',
      group: 'Console',
      keys: 'b',
      run: toggleNavigation,
    },
    { id: 'help.open', title: 'Show all shortcuts', group: 'Console', keys: '?', run: openHelp },
    { id: 'theme.next', title: `Theme: ${next.label}`, group: 'Console', run: () => setColorScheme(next.value) },
    { id: 'session.end', title: 'Sign out', group: 'Console', run: () => void leave() },
  ];
  useCommands(commands);
}
