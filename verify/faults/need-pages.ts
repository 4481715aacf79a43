// Makes every step of an operation need a new page while the disk is full: whether a statement needs
// one is chance otherwise.
import type { Store } from '../../src/db/connection/client.ts'

/** Each row fills a page, and no page is used twice. */
export async function needPages({ sql }: Store): Promise<void> {
  await sql.unsafe(`
    create table fault_suite_disk (is_full boolean not null);
    insert into fault_suite_disk values (false);
    create table fault_suite_pages (page text) with (autovacuum_enabled = false);
    alter table fault_suite_pages alter page set storage plain;
    create function fault_suite_need_page() returns trigger language plpgsql security definer as $$
    begin
      if (select is_full from fault_suite_disk) then
        insert into fault_suite_pages values (repeat('-', 8000));
      end if;
      return null;
    end $$;
    create trigger fault_suite_need_page after insert or update on idempotency_keys
      for each row execute function fault_suite_need_page();
  `)
}
