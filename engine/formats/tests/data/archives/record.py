"""Writes small archives with tarfile and py7zr, and members.json with their content."""
import io, json, lzma, tarfile, zlib
import py7zr

MEMBERS = [("folder/", None), ("folder/text.txt", b"text\n" * 2000), ("empty.txt", b""), ("folder/deep/bytes.bin", bytes(range(256)) * 20)]

def tar(name, mode, format):
    """Writes a tar archive of all members, and of a member with a long path."""
    with tarfile.open(name, mode, format=format) as archive:
        for path, content in MEMBERS + [("long/" + "x" * 120 + "/\u00e4.txt", b"long name")]:
            info = tarfile.TarInfo(path.rstrip("/"))
            info.mtime = 1600000000
            if content is None:
                info.type = tarfile.DIRTYPE
            else:
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content or b""))

tar("gnu.tar.gz", "w:gz", tarfile.GNU_FORMAT)
tar("pax.tar.gz", "w:gz", tarfile.PAX_FORMAT)

FILTERS = {
    "lzma2_bcj": None,  # the default of py7zr
    "lzma": [{"id": py7zr.FILTER_LZMA}],
    "deflate": [{"id": py7zr.FILTER_DEFLATE}],
    "copy": [{"id": py7zr.FILTER_COPY}],
    "delta_lzma2": [{"id": py7zr.FILTER_DELTA}, {"id": py7zr.FILTER_LZMA2, "preset": 6}],
}
for name, filters in FILTERS.items():
    with py7zr.SevenZipFile(name + ".7z", "w", filters=filters) as archive:
        for path, content in MEMBERS:
            if content is not None:
                archive.writestr(content, path)
with py7zr.SevenZipFile("encrypted.7z", "w", password="secret") as archive:
    archive.writestr(b"secret", "secret.txt")
with py7zr.SevenZipFile("bzip2.7z", "w", filters=[{"id": py7zr.FILTER_BZIP2}]) as archive:
    archive.writestr(b"text", "text.txt")
json.dump([[path.rstrip("/"), None if content is None else [len(content), zlib.crc32(content)]] for path, content in MEMBERS], open("members.json", "w"))
