// Every step that an operation's row makes, and every change of what was posted, kept by the database itself in
// tables of the suite's own: the record by which recovery points, lease epochs and the ledger's rows are checked,
// independent of what the service says.
import type { Store } from '../../src/db/connection/client.ts'
import type { Violation } from './results.ts'

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
    create table fault_suite_ledger_changes (tenant_id uuid, id uuid, what text);
    create function fault_suite_keep_ledger_change() returns trigger
    language plpgsql security definer as $$
    begin
      insert into fault_suite_ledger_changes values (old.tenant_id, old.id, lower(tg_op));
      return null;
    end $$;
    create trigger fault_suite_ledger_changes after update or delete on ledger_postings
      for each row execute function fault_suite_keep_ledger_change();
  `)
}

/** What was done to rows of the ledger that are to stay as they were written. */
export async function readLedgerChanges({ sql }: Store, tenantId: string): Promise<Violation[]> {
  const rows = await sql<{ id: string; what: string }[]>`
    select id, what from fault_suite_ledger_changes where tenant_id = ${tenantId}
  `
  return rows.map(({ id, what }) => ({ invariant: 4, what: `${what} of the posting ${id}` }))
}

/** The steps of a tenant's operations, each operation's in their order. */
export async function readMoves({ sql }: Store, tenantId: string): Promise<Move[][]> {
  const rows = await sql<(Move & { id: string })[]>`
    select id, operation, status, recovery_point as "recoveryPoint", lease_epoch as "leaseEpoch"
    from fault_suite_moves where tenant_id = ${tenantId} order by seq
  `
  return [...Map.groupBy(rows, ({ id }) => id).values()]
}
