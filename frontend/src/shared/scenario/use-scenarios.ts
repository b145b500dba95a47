import { useQuery } from '@tanstack/react-query';
import { listAll } from '../api/queries.js';

/** All scenarios; what they are does not change while the server runs. */
export const useScenarios = () =>
  useQuery({
    queryKey: ['scenarios'],
    queryFn: ({ signal }) => listAll('listScenarios', {}, signal),
  });
