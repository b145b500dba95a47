import { Link } from 'react-router';
import { chainPath } from '../../shared/api/chains.js';
import { useChains } from '../../shared/api/queries.js';

/** The chain's title, linked to the chain unless it is deleted. */
export function ChainLink({ id, title }: { readonly id: string; readonly title: string | null }) {
  const { data } = useChains();
  const deleted = data?.every((each) => each.id !== id);
  return deleted ? title : <Link to={chainPath(id)}>{title}</Link>;
}
