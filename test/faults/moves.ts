// Every step that an operation's row makes, kept by the database itself in a table of the suite's own: the
// record by which recovery points and lease epochs are checked, independent of what the service says.
import type { Store } from '../../src/db/client.ts'

export interface Move {
  readonly operation: string
  readonly status: string
  readonly recoveryPoint: string
  readonly leaseEpoch: number
}

/** Has the database keep the steps of all operations from now on. */
export async function watchMoves({ sql }: Store): Promise<void> {
  await sql.unsafe(`
    create table fault_suite_moves (
      seq bigint generated always as identity, tenant_id uuid, id uuid, operation text,
      status text, recovery_point text, lease_epoch integer
    );
    create index on fault_suite_moves (id, recovery_point, seq);
    create function fault_suite_keep_move() returns trigger language plpgsql security definer as $$
    begin
      insert into fault_suite_moves (tenant_id, id, operation, status, recovery_point, lease_epoch)
      values (new.tenant_id, new.id, new.operation, new.status, new.recovery_point, new.lease_epoch);
      return null;
    end $$;
    create trigger fault_suite_moves after insert or update on idempotency_keys
      for each row execute function fault_suite_keep_move();
  `)
}

/** The steps of a tenant's operations, each operation's in their order. */
export async function readMoves({ sql }: Store, tenantId: string): Promise<Move[][]> {
  const rows = await sql<(Move & { id: string })[]>`
    select id, operation, status, recovery_point as "recoveryPoint", lease_epoch as "leaseEpoch"
    from fault_suite_moves where tenant_id = ${tenantId} order by seq
  `
  return [...Map.groupBy(rows, ({ id }) => id).values()]
}
