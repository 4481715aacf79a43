import './in-parts.ts'
import '../../../http/admin/dead-letters.test.ts'
