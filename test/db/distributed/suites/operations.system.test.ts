import './in-parts.ts'
import '../../../http/admin/operations.test.ts'
