import { ActionIcon, Burger, Drawer, Menu, Tooltip, UnstyledButton, useMantineColorScheme } from '@mantine/core';
import {
  IconApi,
  IconCheck,
  IconDeviceDesktop,
  IconExternalLink,
  IconKeyboard,
  IconLogout,
  IconMoon,
  IconSearch,
  IconSelector,
  IconSun,
  IconUser,
} from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { Navigate, NavLink, Outlet, useLocation, useNavigate } from 'react-router';
import { call } from '../shared/api/client.js';
import { signOut, useSession } from '../shared/api/session.js';
import { type Command, useCommands } from '../shared/ui/commands.js';
import { Keys } from '../shared/ui/keys.js';
import { ConnectionBanner, ConnectionState } from './connection.js';
import { Logo } from './logo.js';
import { API_REFERENCE, PAGES, SECTIONS } from './pages.js';
import classes from './shell.module.css';

const CommandPalette = lazy(() => import('./command-palette.js'));
const ShortcutHelp = lazy(() => import('./shortcut-help.js'));

function Navigation({ onNavigate }: { readonly onNavigate?: () => void }) {
  return (
    <nav aria-label="Pages" className={classes.nav}>
      {SECTIONS.map(({ id, title }) => (
        <div key={id} className={classes.section}>
          {title && <div className={classes.sectionTitle}>{title}</div>}
          <ul>
            {PAGES.filter(({ section }) => section === id).map(({ path, title: name, icon: Icon }) => (
              <li key={path}>
                <NavLink to={path} end={path === '/'} className={classes.link} onClick={onNavigate}>
                  <Icon size={16} stroke={1.6} />
                  {name}
                </NavLink>
              </li>
            ))}
            {id === API_REFERENCE.section && (
              <li>
                <a href={API_REFERENCE.path} target="_blank" rel="noreferrer" className={classes.link}>
                  <IconApi size={16} stroke={1.6} />
                  {API_REFERENCE.title}
                  <IconExternalLink size={13} stroke={1.6} aria-label="in a new tab" className={classes.outside} />
                </a>
              </li>
            )}
          </ul>
        </div>
      ))}
    </nav>
  );
}

function ProjectPicker() {
  return (
    <Menu position="bottom-start" width={240} withinPortal={false}>
      <Menu.Target>
        <UnstyledButton className={classes.project} aria-label="Project: default">
          <span className="muted">Project</span> default
          <IconSelector size={14} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconCheck size={14} />}>default</Menu.Item>
        <Menu.Divider />
        <Menu.Label>This installation has one project.</Menu.Label>
      </Menu.Dropdown>
    </Menu>
  );
}

const SCHEMES = [
  { value: 'auto', label: 'As the system', icon: IconDeviceDesktop },
  { value: 'light', label: 'Light', icon: IconSun },
  { value: 'dark', label: 'Dark', icon: IconMoon },
] as const;

function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const Current = SCHEMES.find(({ value }) => value === colorScheme)?.icon ?? IconDeviceDesktop;
  return (
    <Menu position="bottom-end" width={180} withinPortal={false}>
      <Menu.Target>
        <ActionIcon aria-label={`Theme: ${colorScheme}`}>
          <Current size={16} stroke={1.6} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Theme</Menu.Label>
        {SCHEMES.map(({ value, label, icon: Icon }) => (
          <Menu.Item
            key={value}
            leftSection={<Icon size={14} />}
            rightSection={value === colorScheme ? <IconCheck size={14} /> : null}
            aria-current={value === colorScheme || undefined}
            onClick={() => setColorScheme(value)}
          >
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

async function leave() {
  await call('deleteSession', {}).catch(() => undefined);
  signOut();
}

function UserMenu({ onHelp }: { readonly onHelp: () => void }) {
  const session = useSession();
  return (
    <Menu position="bottom-end" width={200} withinPortal={false}>
      <Menu.Target>
        <ActionIcon aria-label={`Signed in as ${session?.name ?? ''}`}>
          <IconUser size={16} stroke={1.6} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {session?.name} · {session?.role}
        </Menu.Label>
        <Menu.Item leftSection={<IconKeyboard size={14} />} rightSection={<Keys keys="?" />} onClick={onHelp}>
          Shortcuts
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={14} />} onClick={() => void leave()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

export function Shell() {
  const session = useSession();
  const location = useLocation();
  const navigate = useNavigate();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [menu, setMenu] = useState(false);
  const [help, setHelp] = useState(false);
  const [palette, setPalette] = useState(0);

  const next = SCHEMES[(SCHEMES.findIndex(({ value }) => value === colorScheme) + 1) % SCHEMES.length]!;
  const commands: Command[] = [
    ...PAGES.map(({ path, title, letter }) => ({
      id: `go.${title.toLowerCase().replaceAll(' ', '-')}`,
      title: `Go to ${title}`,
      group: 'Pages',
      keys: `g ${letter}`,
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
      run: () => setPalette((count) => count + 1),
    },
    { id: 'help.open', title: 'Show all shortcuts', group: 'Console', keys: '?', run: () => setHelp(true) },
    { id: 'theme.next', title: `Theme: ${next.label}`, group: 'Console', run: () => setColorScheme(next.value) },
    { id: 'session.end', title: 'Sign out', group: 'Console', run: () => void leave() },
  ];
  useCommands(commands);

  if (!session) {
    const here = location.pathname + location.search;
    return <Navigate to={here === '/' ? '/login' : `/login?next=${encodeURIComponent(here)}`} replace />;
  }

  return (
    <div className={classes.shell}>
      <a href="#main" className={classes.skip}>
        Skip to the page
      </a>
      <header className={classes.top}>
        <Burger
          className={classes.burger}
          size="xs"
          opened={menu}
          onClick={() => setMenu(!menu)}
          aria-label="Navigation"
        />
        <NavLink to="/" className={classes.brand} aria-label="Orrery, overview">
          <Logo />
          <span>Orrery</span>
        </NavLink>
        <ProjectPicker />
        <div className={classes.topEnd}>
          <ConnectionState />
          <UnstyledButton className={classes.search} onClick={() => setPalette((count) => count + 1)}>
            <IconSearch size={14} />
            <span>Search</span>
            <Keys keys="mod+k" />
          </UnstyledButton>
          <Tooltip label="Search">
            <ActionIcon
              className={classes.searchIcon}
              aria-label="Search commands"
              onClick={() => setPalette((count) => count + 1)}
            >
              <IconSearch size={16} stroke={1.6} />
            </ActionIcon>
          </Tooltip>
          <ThemeSwitch />
          <UserMenu onHelp={() => setHelp(true)} />
        </div>
      </header>
      <div className={classes.side}>
        <Navigation />
      </div>
      <Drawer opened={menu} onClose={() => setMenu(false)} size={232} title="Orrery" padding="sm">
        <Navigation onNavigate={() => setMenu(false)} />
      </Drawer>
      <main id="main" tabIndex={-1} className={classes.main}>
        <ConnectionBanner />
        <Outlet />
      </main>
      <Suspense fallback={null}>
        {palette > 0 && <CommandPalette request={palette} />}
        {help && <ShortcutHelp onClose={() => setHelp(false)} />}
      </Suspense>
    </div>
  );
}
