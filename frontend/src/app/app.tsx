import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createBrowserRouter, RouterProvider } from 'react-router';
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import { ApiError } from '../shared/api/client.js';
import { startStream } from '../shared/stream/stream.js';
import { colorSchemeManager } from '../shared/theme/color-scheme.js';
import { cssVariables, theme } from '../shared/theme/theme.js';
import '../shared/theme/tokens.css';
import '../shared/theme/global.css';
import { listenForKeys } from '../shared/ui/commands.js';
import { LoginPage } from './login.js';
import { NotFound } from './not-found.js';
import { PAGES } from './pages.js';
import { RouteError } from './route-error.js';
import { pageRoutes } from './routes.js';
import { Shell } from './shell.js';

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // Retrying a refused request is pointless; a restarting server is soon back.
      retry: (count, error) => count < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
    },
  },
});

const router = createBrowserRouter([
  { path: '/login', element: <LoginPage />, errorElement: <RouteError /> },
  {
    element: <Shell />,
    errorElement: <RouteError />,
    children: [...pageRoutes(PAGES), { path: '*', element: <NotFound /> }],
  },
]);

const schemes = colorSchemeManager();
startStream(queryClient);
listenForKeys();

export function App() {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      colorSchemeManager={schemes}
      defaultColorScheme="auto"
    >
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" limit={4} autoClose={6000} transitionDuration={100} />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
