// Takes the second wall between tenants away and puts it up again, to measure what it costs.
import type { Sql } from '../../src/db/connection/client.ts'

/** For all tables that have it. Whoever has prepared a statement on one has it planned anew. */
export async function switchRowSecurity(sql: Sql, to: 'enable' | 'disable'): Promise<void> {
  await sql.unsafe(`
    do $$
    declare
      walled regclass;
    begin
      for walled in select distinct polrelid::regclass from pg_policy loop
        execute format('alter table %s ${to} row level security', walled);
      end loop;
    end
    $$
  `)
}
