"""What libraries declare where: the tables of check_names.py."""
import collections
import re

# Standard header: names that it provides by the standard's word. A name may stand under several
# headers; any of them will do. A nested namespace (chrono, filesystem, ...) stands for its names.
STD = {
    "algorithm": """
        adjacent_find all_of any_of binary_search clamp copy copy_backward copy_if copy_n count
        count_if equal equal_range fill fill_n find find_end find_first_of find_if find_if_not
        for_each for_each_n generate generate_n includes inplace_merge is_heap is_partitioned
        is_permutation is_sorted is_sorted_until iter_swap lexicographical_compare lower_bound
        make_heap max max_element merge min min_element minmax minmax_element mismatch
        move_backward next_permutation none_of nth_element partial_sort partition partition_copy
        partition_point pop_heap prev_permutation push_heap remove remove_copy remove_copy_if
        remove_if replace replace_copy replace_if reverse reverse_copy rotate sample search
        set_difference set_intersection set_symmetric_difference set_union shuffle sort sort_heap
        stable_partition stable_sort swap_ranges transform unique unique_copy upper_bound""",
    "any": "any any_cast",
    "array": "array get to_array tuple_element_t tuple_size tuple_size_v",
    "atomic": """
        atomic atomic_flag atomic_ref atomic_thread_fence memory_order memory_order_acq_rel
        memory_order_acquire memory_order_relaxed memory_order_release memory_order_seq_cst""",
    "barrier": "barrier",
    "bit": """
        bit_cast bit_ceil bit_floor bit_width countl_one countl_zero countr_one countr_zero endian
        has_single_bit popcount rotl rotr""",
    "bitset": "bitset",
    "cctype": """
        isalnum isalpha isblank iscntrl isdigit islower isprint ispunct isspace isupper isxdigit
        tolower toupper""",
    "cerrno": "",
    "cfenv": "feclearexcept fegetround fesetround fetestexcept",
    "cfloat": "",
    "charconv": "chars_format from_chars from_chars_result to_chars to_chars_result",
    "chrono": "chrono chrono_literals",
    "climits": "",
    "clocale": "localeconv setlocale",
    "cmath": """
        abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2
        expm1 fabs floor fma fmax fmin fmod fpclassify frexp hypot isfinite isinf isnan isnormal
        ldexp lerp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nanf
        nearbyint nextafter pow remainder rint round scalbn signbit sin sinh sqrt tan tanh tgamma
        trunc""",
    "compare": """
        compare_three_way partial_ordering strong_order strong_ordering weak_ordering""",
    "complex": "complex",
    "concepts": """
        constructible_from convertible_to derived_from equality_comparable floating_point integral
        invocable predicate regular same_as signed_integral totally_ordered unsigned_integral""",
    "condition_variable": "condition_variable condition_variable_any cv_status",
    "csetjmp": "jmp_buf longjmp",
    "csignal": "raise sig_atomic_t signal",
    "cstdarg": "va_list",
    "cstddef": "byte max_align_t nullptr_t ptrdiff_t size_t to_integer",
    "cstdint": """
        int8_t int16_t int32_t int64_t intmax_t intptr_t uint8_t uint16_t uint32_t uint64_t
        uintmax_t uintptr_t""",
    "cstdio": """
        FILE fclose feof ferror fflush fgetc fgets fopen fprintf fputc fputs fread fseek ftell
        fwrite getc getchar perror printf putc putchar puts remove rename rewind setvbuf size_t
        snprintf sscanf tmpfile vsnprintf""",
    "cstdlib": """
        _Exit abort abs aligned_alloc atexit atof atoi atol atoll calloc div exit free getenv
        malloc quick_exit realloc size_t strtod strtof strtol strtoll strtoul strtoull system""",
    "cstring": """
        memchr memcmp memcpy memmove memset size_t strchr strcmp strerror strlen strncmp strrchr
        strstr""",
    "ctime": "clock gmtime localtime mktime size_t strftime time time_t timespec tm",
    "cwchar": "size_t",
    "deque": "deque",
    "exception": """
        current_exception exception exception_ptr make_exception_ptr nested_exception
        rethrow_exception rethrow_if_nested set_terminate terminate throw_with_nested
        uncaught_exceptions""",
    "execution": "execution",
    "filesystem": "filesystem",
    "forward_list": "forward_list",
    "fstream": "filebuf fstream ifstream ios istream ofstream ostream",
    "functional": """
        bit_and bit_or bit_xor cref divides equal_to function greater greater_equal hash identity
        invoke less less_equal logical_and logical_not logical_or mem_fn minus modulus multiplies
        negate not_equal_to not_fn plus ref reference_wrapper ranges::equal_to ranges::greater
        ranges::greater_equal ranges::less ranges::less_equal ranges::not_equal_to""",
    "future": "async future future_status launch packaged_task promise shared_future",
    "initializer_list": "initializer_list",
    "iomanip": "put_time quoted setbase setfill setprecision setw",
    "ios": """
        boolalpha dec defaultfloat fixed hex ios ios_base oct scientific streamoff streampos
        streamsize""",
    "iosfwd": "istream ostream streambuf",
    "iostream": "cerr cin clog cout endl flush ios iostream istream ostream streambuf",
    "istream": "ios iostream istream ws",
    "iterator": """
        advance back_insert_iterator back_inserter begin bidirectional_iterator_tag cbegin cend
        contiguous_iterator crbegin crend data distance empty end forward_iterator
        forward_iterator_tag front_inserter input_iterator input_iterator_tag inserter
        istream_iterator istreambuf_iterator iter_value_t iterator_traits make_move_iterator
        make_reverse_iterator move_iterator next ostream_iterator ostreambuf_iterator prev
        random_access_iterator random_access_iterator_tag rbegin rend reverse_iterator size ssize
        ranges::begin ranges::data ranges::distance ranges::empty ranges::end ranges::next
        ranges::prev ranges::size ranges::ssize""",
    "latch": "latch",
    "limits": "numeric_limits",
    "list": "list",
    "locale": "locale use_facet",
    "map": "map multimap",
    "memory": """
        addressof align allocator allocator_traits assume_aligned const_pointer_cast construct_at
        default_delete destroy destroy_at destroy_n dynamic_pointer_cast enable_shared_from_this
        make_shared make_unique make_unique_for_overwrite shared_ptr static_pointer_cast to_address
        uninitialized_copy uninitialized_fill uninitialized_move unique_ptr weak_ptr""",
    "memory_resource": "pmr",
    "mutex": """
        adopt_lock call_once defer_lock lock lock_guard mutex once_flag recursive_mutex scoped_lock
        try_lock try_to_lock unique_lock""",
    "new": """
        align_val_t bad_alloc bad_array_new_length hardware_destructive_interference_size launder
        nothrow set_new_handler""",
    "numbers": "numbers",
    "numeric": """
        accumulate adjacent_difference exclusive_scan gcd inclusive_scan inner_product iota lcm
        midpoint partial_sum reduce transform_reduce""",
    "optional": "bad_optional_access make_optional nullopt nullopt_t optional",
    "ostream": "endl flush ios ostream",
    "queue": "priority_queue queue",
    "random": """
        bernoulli_distribution discrete_distribution exponential_distribution mt19937 mt19937_64
        normal_distribution poisson_distribution random_device seed_seq uniform_int_distribution
        uniform_random_bit_generator uniform_real_distribution""",
    "ranges": """
        views ranges::begin ranges::contiguous_range ranges::data ranges::empty ranges::end
        ranges::forward_range ranges::input_range ranges::iota_view ranges::iterator_t
        ranges::random_access_range ranges::range ranges::range_reference_t ranges::range_value_t
        ranges::size ranges::sized_range ranges::ssize ranges::subrange ranges::view""",
    "ratio": "femto giga kilo mega micro milli nano pico ratio",
    "regex": """
        cmatch cregex_iterator regex regex_constants regex_error regex_match regex_replace
        regex_search smatch sregex_iterator sregex_token_iterator ssub_match""",
    "semaphore": "binary_semaphore counting_semaphore",
    "set": "multiset set",
    "shared_mutex": "shared_lock shared_mutex shared_timed_mutex",
    "source_location": "source_location",
    "span": "as_bytes as_writable_bytes dynamic_extent span",
    "sstream": """
        ios istream istringstream ostream ostringstream stringbuf stringstream""",
    "stack": "stack",
    "stdexcept": """
        domain_error exception invalid_argument length_error logic_error out_of_range
        overflow_error range_error runtime_error underflow_error""",
    "stop_token": "stop_callback stop_source stop_token",
    "streambuf": "streambuf",
    "string": """
        basic_string char_traits getline stod stof stoi stol stoll stoul stoull string
        string_literals to_string u16string u32string u8string wstring""",
    "string_view": "basic_string_view string_view string_view_literals wstring_view",
    "system_error": """
        errc error_category error_code error_condition generic_category make_error_code
        system_category system_error""",
    "thread": "jthread this_thread thread",
    "tuple": """
        apply forward_as_tuple get ignore make_from_tuple make_tuple tie tuple tuple_cat
        tuple_element_t tuple_size tuple_size_v""",
    "type_traits": """
        add_const_t add_pointer_t bool_constant common_type_t conditional_t conjunction_v decay_t
        disjunction_v enable_if_t false_type has_unique_object_representations_v integral_constant
        invoke_result_t is_aggregate_v is_arithmetic_v is_array_v is_assignable_v is_base_of_v
        is_class_v is_const_v is_constant_evaluated is_constructible_v is_convertible_v
        is_copy_assignable_v is_copy_constructible_v is_default_constructible_v is_enum_v
        is_floating_point_v is_function_v is_integral_v is_invocable_r_v is_invocable_v
        is_move_assignable_v is_move_constructible_v is_nothrow_constructible_v
        is_nothrow_move_assignable_v is_nothrow_move_constructible_v is_pointer_v is_polymorphic_v
        is_reference_v is_same is_same_v is_signed_v is_standard_layout_v is_trivial_v
        is_trivially_copyable_v is_trivially_destructible_v is_unsigned_v is_void_v make_signed_t
        make_unsigned_t negation_v remove_const_t remove_cv_t remove_cvref_t remove_extent_t
        remove_pointer_t remove_reference_t true_type type_identity_t underlying_type_t void_t""",
    "typeindex": "type_index",
    "typeinfo": "bad_cast type_info",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_multiset unordered_set",
    "utility": """
        as_const cmp_equal cmp_greater cmp_greater_equal cmp_less cmp_less_equal cmp_not_equal
        declval exchange forward get in_place in_place_index in_place_type in_range index_sequence
        index_sequence_for integer_sequence make_index_sequence make_integer_sequence make_pair
        move move_if_noexcept pair piecewise_construct swap tuple_element_t tuple_size tuple_size_v
        """,
    "valarray": "valarray",
    "variant": """
        bad_variant_access get get_if holds_alternative in_place_index in_place_type monostate
        variant variant_alternative_t variant_size_v visit""",
    "vector": "vector",
}

_CONTAINERS = "deque forward_list list map set string unordered_map unordered_set vector"
_RANGES = "array regex span string_view " + _CONTAINERS
# Names that many headers provide besides.
_STD_AS_WELL = {
    "begin end cbegin cend rbegin rend crbegin crend size ssize empty data": _RANGES,
    "erase erase_if swap": _CONTAINERS,
    "hash": "bitset memory optional string string_view system_error thread typeindex variant",
    "initializer_list":
        "algorithm optional queue random regex stack utility valarray " + _CONTAINERS,
    # The errors of what these do; the units of its durations.
    "error_code": "filesystem",
    "errc": "charconv",
    "femto milli micro nano pico ratio": "chrono",
    # Everything whose interface counts in these.
    "size_t ptrdiff_t": "algorithm atomic bitset iterator memory new numeric queue stack tuple "
                        "utility " + _RANGES,
}

# Nested namespaces whose names are listed one by one.
NESTED = {"ranges"}


def _std_headers():
    table = collections.defaultdict(list)
    for header, names in STD.items():
        for name in names.split():
            table[name].append(header)
            if header == "algorithm":
                table[f"ranges::{name}"].append(header)
    for names, headers in _STD_AS_WELL.items():
        for name in names.split():
            table[name] += [header for header in headers.split() if header not in table[name]]
    for name, headers in table.items():
        headers.sort(key=lambda header: header != name)  # what is proposed: first its namesake
    return dict(table)


# Standard name: its headers, the one to propose first.
STD_HEADERS = _std_headers()

# C's own spellings of the same types.
C_TYPES = set(STD["cstdint"].split()) | {"size_t", "ptrdiff_t"}

# Other libraries' names: by namespace, and by whole name where that tells the header (the longest
# that fits counts) ...
FOREIGN_NAMESPACES = {
    "boost": ("boost/",),
    "boost::alignment": ("boost/align/",),
    "boost::adjacency_list": ("boost/graph/adjacency_list.hpp",),
    "boost::breadth_first_search": ("boost/graph/breadth_first_search.hpp",),
    "boost::depth_first_search": ("boost/graph/depth_first_search.hpp",),
    "boost::strong_components": ("boost/graph/strong_components.hpp",),
    "boost::topological_sort": ("boost/graph/topological_sort.hpp",),
    "boost::transitive_closure": ("boost/graph/transitive_closure.hpp",),
    "boost::random::mt19937_64": ("boost/random/mersenne_twister.hpp",),
    "boost::random::normal_distribution": ("boost/random/normal_distribution.hpp",),
    "boost::random::uniform_01": ("boost/random/uniform_01.hpp",),
    "boost::random::uniform_int_distribution": ("boost/random/uniform_int_distribution.hpp",),
    "benchmark": ("benchmark/",),
    "CLI": ("CLI/",),
    "dnnl": ("oneapi/dnnl/",),
    "doctest": ("doctest/",),
    "Eigen": ("Eigen/",),
    "Eigen::SparseMatrix": ("Eigen/Sparse",),
    "Eigen::Triplet": ("Eigen/Sparse",),
    "fmt": ("fmt/",),
    "fmt::join": ("fmt/format.h", "fmt/ranges.h"),
    "fmt::gmtime": ("fmt/chrono.h",),
    "mu": ("muParser.h",),
    "nlohmann": ("nlohmann/",),
    "YAML": ("yaml-cpp/",),
    "YAML::Emitter": ("yaml-cpp/emitter.h", "yaml-cpp/yaml.h"),
    "YAML::EventHandler": ("yaml-cpp/eventhandler.h", "yaml-cpp/yaml.h"),
    "YAML::Mark": ("yaml-cpp/exceptions.h", "yaml-cpp/mark.h", "yaml-cpp/yaml.h"),
    "YAML::Parser": ("yaml-cpp/parser.h", "yaml-cpp/yaml.h"),
}

# ... and by spelling, for names that no one else would use.
_FOREIGN_NAMES = [
    (r"TEST_CASE\w*|SUBCASE|(CHECK|REQUIRE|WARN)(_\w+)?|CAPTURE|FAIL|FAIL_CHECK|MESSAGE",
     ("doctest/",)),
    (r"BENCHMARK\w*", ("benchmark/",)),
    (r"H5[A-Z]\w+|hid_t|hsize_t|herr_t", ("hdf5.h",)),
    (r"dnnl_\w+2str", ("oneapi/dnnl/dnnl_debug.h",)),
    (r"EIGEN_\w+", ("Eigen/",)),
    (r"METIS_\w+|idx_t", ("metis.h",)),
    (r"SCOTCH_\w+", ("scotch.h",)),
    (r"Clp_\w+", ("Clp_C_Interface.h",)),
    (r"cuda[A-Z]\w+|dim3", ("cuda_runtime.h", "cuda_runtime_api.h")),
    (r"cublas[A-Z]\w+|CUBLAS_\w+", ("cublasLt.h",)),
    (r"cudnn[A-Z]\w+|CUDNN_\w+", ("cudnn.h",)),
    (r"PFN_cu\w+", ("cudaTypedefs.h",)),
    (r"crc32\w*|z_stream|(in|de)flate(Init2|End)?|Z_[A-Z]\w+|gz(open|read|write|close)",
     ("zlib.h",)),
    (r"Json", ("nlohmann/",)),  # ours, but its header declares it forward only
    (r"omp_\w+", ("omp.h",)),
    (r"_mm\d*_\w+|__m\d+[a-z]?", ("immintrin.h",)),
    (r"assert", ("cassert",)),
    (r"errno|E[A-Z]{3,9}", ("cerrno",)),
    (r"U?INT\d+_(MAX|MIN)|SIZE_MAX", ("cstdint",)),
    (r"(CHAR|SCHAR|UCHAR|SHRT|INT|UINT|LONG|LLONG|ULONG)_(MAX|MIN|BIT)", ("climits",)),
    (r"(FLT|DBL)_\w+", ("cfloat",)),
    (r"stdin|stdout|stderr|EOF|BUFSIZ", ("cstdio",)),
    (r"SIG[A-Z]+[0-9]?|kill|sig(action|addset|emptyset|procmask|timedwait|set_t)",
     ("csignal", "signal.h")),
    (r"timespec|nanosleep", ("ctime",)),
    (r"S_I[A-Z]+|fchmod|fstat|mkfifo|umask", ("sys/stat.h",)),
    (r"EXIT_(SUCCESS|FAILURE)", ("cstdlib",)),
    (r"O_[A-Z]{4,}", ("fcntl.h",)),
    (r"_exit|dup2|fork|fsync|ftruncate|geteuid|gethostname|getpid|getppid|isatty|setsid|sysconf|"
     r"unlink|_SC_\w+|STD[A-Z]+_FILENO", ("unistd.h",)),
    (r"waitpid|WIF[A-Z]+|WEXITSTATUS|WTERMSIG|WNOHANG", ("sys/wait.h",)),
    (r"flock|LOCK_(SH|EX|UN|NB)", ("sys/file.h",)),
    (r"mmap|munmap|PROT_[A-Z]+|MAP_[A-Z]+", ("sys/mman.h",)),
    (r"[gs]etrlimit|getrusage|rusage|RLIMIT_\w+|RUSAGE_\w+", ("sys/resource.h",)),
    (r"ioctl|winsize|TIOC\w+", ("sys/ioctl.h",)),
    (r"dl(open|sym|close|error)|RTLD_\w+", ("dlfcn.h",)),
    (r"cpu_set_t|CPU_(SET|ZERO|ISSET|COUNT)\w*|sched_\w+", ("sched.h", "pthread.h")),
    (r"pthread_(self|[gs]etaffinity_np|setname_np)", ("pthread.h",)),
    (r"posix_spawn\w*", ("spawn.h",)),
    (r"utsname|uname", ("sys/utsname.h",)),
    (r"prctl|PR_SET_\w+", ("sys/prctl.h",)),
    (r"pollfd|POLL(IN|OUT|HUP|ERR)", ("poll.h",)),
    (r"mallopt|mallinfo2?|malloc_trim|M_(MMAP|TRIM)\w+", ("malloc.h",)),
    (r"ucontext_t|(get|set|make|swap)context", ("ucontext.h",)),
    (r"_setjmp|_longjmp|jmp_buf", ("setjmp.h", "csetjmp")),
]
_FOREIGN = re.compile("|".join(f"(?P<n{i}>{names})" for i, (names, _) in enumerate(_FOREIGN_NAMES)))
_foreign = {}  # names seen


def foreign_headers(name):
    """Headers of other libraries, or how they begin, that declare a name; () if none does."""
    if name not in _foreign:
        match = _FOREIGN.fullmatch(name)
        group = match and next(key for key, text in match.groupdict().items() if text is not None)
        _foreign[name] = _FOREIGN_NAMES[int(group[1:])][1] if match else ()
    return _foreign[name]


# Headers of forward declarations: enough for a header that passes things on, not for a source.
FORWARDS = {"nlohmann/json_fwd.hpp"}
